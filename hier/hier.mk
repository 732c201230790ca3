# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/candidates.c hier/forced.c hier/planner.c hier/planner.h hier/slices.c hier/table_choice.c
