# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/cost/constants.c hier/cost/cost.c hier/cost/cost.h hier/cost/levels.c hier/cost/parameters.c hier/cost/uplinks.c
