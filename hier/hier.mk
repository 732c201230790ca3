# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/candidates.c hier/choice.c hier/cut_slices.c hier/forced.c hier/planner.c hier/planner.h hier/predict.c hier/rival.c hier/table_choice.c
