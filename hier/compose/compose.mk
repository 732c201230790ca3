# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/compose/alltoall.c hier/compose/candidate.c hier/compose/compose.c hier/compose/compose.h \
    hier/compose/composer.h hier/compose/flat.c hier/compose/gather.c hier/compose/levels.c hier/compose/lists.h \
    hier/compose/scan.c
