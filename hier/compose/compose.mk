# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/compose/algorithm_list.c hier/compose/algorithm_list.h hier/compose/alltoall.c hier/compose/candidate.c hier/compose/compose.c hier/compose/compose.h \
    hier/compose/composer.h hier/compose/flat.c hier/compose/gather.c hier/compose/levels.c hier/compose/lists.h \
    hier/compose/scan.c

hier/compose/algorithms.inc: $(top_srcdir)/intra/algorithms/algorithms.mk $(top_srcdir)/inter/algorithms/algorithms.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && printf '%s\n' $(intra_algorithms) $(inter_algorithms) | sed 's,.*/\(.*\)\.c,ROW(hx_\1),' >$@
hier/compose/algorithm_list.lo: hier/compose/algorithms.inc
CLEANFILES += hier/compose/algorithms.inc
