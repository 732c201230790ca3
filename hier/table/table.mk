# SPDX-License-Identifier: BSD-3-Clause
hx_sources += hier/table/json.c hier/table/json_place.c hier/table/json_place.h hier/table/model.c hier/table/schema.c \
    hier/table/table.c hier/table/table.h
