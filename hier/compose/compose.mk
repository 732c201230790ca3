# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/compose/algorithm_list.c hier/compose/algorithm_list.h hier/compose/alltoall.c hier/compose/candidate.c \
    hier/compose/compose.c hier/compose/compose.h hier/compose/composer.h hier/compose/flat.c hier/compose/gather.c \
    hier/compose/levels.c hier/compose/neighbors.c hier/compose/scan.c

algorithm_files = $(intra_algorithms:%=$(top_srcdir)/%) $(inter_algorithms:%=$(top_srcdir)/%)
hier/compose/algorithms.inc: $(algorithm_files) $(top_srcdir)/intra/algorithms/algorithms.mk $(top_srcdir)/inter/algorithms/algorithms.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -n -e 's/^const struct hx_algorithm \(.*\)\[\] = {.*/ROWS(\1)/p' \
	    -e 's/^const struct hx_algorithm \([^[]*\) = {/ROW(\1)/p' $(algorithm_files) >$@
hier/compose/algorithm_list.lo: hier/compose/algorithms.inc
CLEANFILES += hier/compose/algorithms.inc
