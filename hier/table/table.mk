# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/table/json.c hier/table/json_place.c hier/table/json_place.h hier/table/print.c hier/table/table.c hier/table/table.h

hier/table/schema.inc: $(top_srcdir)/hier/table/schema.json
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $(top_srcdir)/hier/table/schema.json >$@
hier/table/table.lo: hier/table/schema.inc
CLEANFILES += hier/table/schema.inc
EXTRA_DIST += hier/table/schema.json
