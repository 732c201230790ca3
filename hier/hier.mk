# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/compose.h hier/composer.h hier/lists.h hier/compose_alltoall.c hier/compose.c hier/compose_flat.c hier/compose_levels.c \
    hier/compose_gather.c hier/compose_scan.c hier/cost.h hier/cost.c hier/cost_book.c hier/cost_levels.c hier/cost_parameters.c \
    hier/planner.h hier/planner.c hier/slices.c hier/candidate.c hier/candidates.c hier/forced.c hier/table.h hier/table.c hier/table_json.c hier/table_model.c hier/table_schema.c hier/table_place.h hier/table_place.c hier/tuning.c
