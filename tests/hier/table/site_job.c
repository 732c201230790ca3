/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of a job, built for a site whose table is here: an all-reduce of 512 bytes, by whatever plan.
 * usage: site_job            site_job write FILE PLAN: a table for two ranks of this machine */
#define HX_SITE_TABLE "site_table.json"
#include "runtime/base/env.c"
#include "hier/table/table.h"

static int table_write(const char *path, const char *plan)
{
    struct hx_table_entry entry = {.coll = HX_COLL_ALLREDUCE, .nnodes = 1, .min_local = 2, .max_local = 2, .in_order = 1,
                                   .to_bytes = UINT64_MAX, .us = 1, .default_us = 2};
    struct hx_table *table = hx_table_new();
    FILE *out = fopen(path, "w");

    snprintf(entry.plan, sizeof(entry.plan), "%s", plan);
    snprintf(entry.default_plan, sizeof(entry.default_plan), "flat(nary)");
    int failed = !out || !table || hx_table_add(table, &entry) != HX_SUCCESS;
    if (!failed)
        hx_table_print(out, table);
    hx_table_free(table);
    return (out && fclose(out)) || failed;
}

int main(int argc, char **argv)
{
    static float vector[128];
    hx_comm_t *world;

    if (argc == 4)
        return table_write(argv[2], argv[3]);
    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    int failed = hx_allreduce(HX_IN_PLACE, vector, 128, HX_FLOAT32, HX_SUM, world) != HX_SUCCESS;
    return hx_finalize() != HX_SUCCESS || failed;
}
