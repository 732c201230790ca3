/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes from the files that HX_TABLE names the entries that hold for the job's machine and its provider. */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "hier/table/table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller tells it, as what hx_table_read refuses. */
static hx_status_t refuse(const char *path, int line, const char *why)
{
    char text[HX_DETAIL_BYTES];

    snprintf(text, sizeof(text), "%s:%d: %s", path, line, why);
    hx_recall(text);
    return HX_ERR_ENV;
}

/* Entries for several nodes: how many are taken, how many are for other providers, and the name of one of these. */
struct others {
    int taken, passed;
    char provider[HX_TABLE_PROVIDER_BYTES];
};

/* Is a measurement over one provider ("": inside a node) valid for the job's provider (NULL: the job has one node)? */
static int serves(const char *measured, const char *provider)
{
    return !measured[0] || (provider && !strcmp(measured, hx_table_provider(provider)));
}

/* Add what of a file serves here. One that cannot be read, or of another machine, is passed over, unless strict. */
static hx_status_t file_take(struct hx_table *all, const char *path, const char *provider, int strict, struct others *others)
{
    struct hx_table *table;
    char why[256];
    int passed = 0, unknown = 0;
    hx_status_t status = hx_table_read(path, &table);

    if (status != HX_SUCCESS && !strict && status != HX_ERR_NOMEM) {
        hx_warn("HX_TABLE: %s: Hierax ignores this table", hx_last_detail());
        return HX_SUCCESS;
    }
    if (status != HX_SUCCESS)
        return status;
    if (hx_table_foreign(table, why)) {
        if (strict)
            status = refuse(path, table->line, why);
        else
            hx_warn("HX_TABLE: %s:%d: Hierax ignores this table: %s", path, table->line, why);
        table->n = table->nmodels = 0;
    }
    for (int i = 0; i < table->nmodels && status == HX_SUCCESS; i++)
        if (serves(table->models[i].provider, provider))
            status = hx_table_model_add(all, &table->models[i]);
    for (int i = 0; i < table->n && status == HX_SUCCESS; i++) {
        if (!hx_candidate_name_is_known(table->entries[i].plan)) {
            snprintf(why, sizeof(why), "this version of Hierax has no plan \"%s\"", table->entries[i].plan);
            if (strict)
                status = refuse(path, table->entries[i].line, why);
            else if (unknown++ == 0)
                hx_warn("HX_TABLE: %s:%d: %s: Hierax ignores this entry", path, table->entries[i].line, why);
        } else if (serves(table->entries[i].nnodes == 1 ? "" : table->entries[i].provider, provider)) {
            status = hx_table_add(all, &table->entries[i]);
            others->taken += table->entries[i].nnodes > 1;
        } else {
            passed++;
            strcpy(others->provider, table->entries[i].provider);
        }
    }
    if (unknown > 1)
        hx_warn("HX_TABLE: %s: Hierax ignores %d more entries with unknown plans", path, unknown - 1);
    hx_info("HX_TABLE: %s: %d entries, %d more for other providers than %s; %d cost models", path, table->n - passed - unknown,
            passed, provider ? provider : "none", table->nmodels);
    others->passed += passed;
    hx_table_free(table);
    return status;
}

/* Take the last file first, so that the first has the last word. Empty parts are skipped: a.json: is a.json. */
static hx_status_t files_take(struct hx_table *all, char *paths, const char *provider, int strict, struct others *others)
{
    hx_status_t status = HX_SUCCESS;
    char *colon = paths;

    while (status == HX_SUCCESS && colon) {
        char *path = (colon = strrchr(paths, ':')) ? colon + 1 : paths;
        if (*path)
            status = file_take(all, path, provider, strict, others);
        if (colon)
            *colon = '\0';
    }
    return status;
}

static hx_status_t tuning_pack(const struct hx_table *all, const char *provider, void **tuning, size_t *bytes)
{
    const struct hx_table_model *node = hx_table_model(all, ""), *net = provider ? hx_table_model(all, provider) : NULL;
    struct hx_tuning *packed;

    if (!node && !net && !all->n)
        return HX_SUCCESS;
    *bytes = sizeof(*packed) + (size_t)all->n * sizeof(*all->entries);
    if (!(packed = calloc(1, *bytes)))
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of tuning", *bytes);
    if (node)
        packed->node = *node;
    if (net)
        packed->net = *net;
    if (all->n)
        memcpy(packed->entries, all->entries, (size_t)all->n * sizeof(*all->entries));
    *tuning = packed;
    return HX_SUCCESS;
}

hx_status_t hx_tuning_read(const struct hx_env *env, const char *provider, void **tuning, size_t *bytes)
{
    struct hx_table *all = hx_table_new();
    char *paths = strdup(env->table);
    struct others others = {0};

    if (env->source[HX_ENV_IDX_table] == HX_SOURCE_SITE)
        hx_info("HX_TABLE is not set: using the site's table %s", env->table);
    hx_status_t status = all && paths ? files_take(all, paths, provider, env->table_strict, &others)
                                      : hx_fail(HX_ERR_NOMEM, "no memory for a tuning table");

    if (status == HX_SUCCESS && provider && others.passed && !others.taken && env->source[HX_ENV_IDX_table] != HX_SOURCE_SITE)
        hx_warn("HX_TABLE=%s has no entries for provider %s, but %d for other providers, such as %s; so the cost model chooses "
                "the plans between nodes", env->table, provider, others.passed, others.provider);
    *tuning = NULL;
    *bytes = 0;
    if (status == HX_SUCCESS)
        status = tuning_pack(all, provider, tuning, bytes);
    hx_table_free(all);
    free(paths);
    return status;
}

void hx_tuning_use(struct hx_planner *planner, const void *tuning, size_t bytes)
{
    const struct hx_tuning *packed = tuning;

    if (bytes < sizeof(*packed))
        return;
    hx_planner_use_table(planner, packed->entries, (int)((bytes - sizeof(*packed)) / sizeof(struct hx_table_entry)));
    hx_table_model_use(&packed->node, &planner->cost);
    hx_table_model_use(&packed->net, &planner->cost);
    planner->node_points = packed->node.points;
    planner->net_points = packed->net.points;
    planner->node_table = packed->node.file;
    planner->net_table = packed->net.file;
}

void hx_planner_use_table(struct hx_planner *planner, const struct hx_table_entry *entries, int n)
{
    planner->table = entries;
    planner->table_n = n;
}

/* The entry for exactly these traits. */
static const struct hx_table_entry *entry_find(const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes)
{
    struct hx_table_entry key;

    hx_table_key(&key, coll, traits, planner->shape, planner->provider);
    return hx_table_find(planner->table, planner->table_n, &key, (uint64_t)bytes);
}

/* The entry for the same call with other numbers or memory. Its measurement left out plans whose ranks fold in different orders,
 * or that read through a window. It does not hold if the model chooses such a plan. */
static const struct hx_table_entry *entry_find_like(const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                                                    const struct hx_candidate *best)
{
    const struct hx_table_entry *entry = NULL;
    struct hx_traits like = traits;

    if (!hx_candidate_needs(best, HX_NEEDS_EXACT)) {
        like.numbers = HX_NUMBERS_FLOAT;
        entry = entry_find(planner, coll, like, bytes);
    }
    if (entry || !traits.shared_alloc || hx_candidate_needs(best, HX_NEEDS_SINGLE_COPY))
        return entry;
    like = traits;
    like.shared_alloc = 0;
    entry = entry_find(planner, coll, like, bytes);
    return entry ? entry : entry_find_like(planner, coll, like, bytes, best);
}

static int has_like(enum hx_coll coll, struct hx_traits traits)
{
    return traits.shared_alloc || (hx_coll_reduces(coll) && traits.numbers != HX_NUMBERS_FLOAT);
}

const struct hx_table_entry *hx_planner_tuned(const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                                              struct hx_candidate *candidates, int n, int *candidate)
{
    const struct hx_table_entry *entry;
    struct hx_candidate found;
    int best;

    *candidate = -1;
    if (!planner->table_n)
        return NULL;
    entry = entry_find(planner, coll, traits, bytes);
    if (!entry && has_like(coll, traits) && (best = hx_planner_best(planner, candidates, n, bytes)) >= 0)
        entry = entry_find_like(planner, coll, traits, bytes, &candidates[best]);
    if (entry && (*candidate = hx_candidate_find(candidates, n, entry->plan, planner->shape, planner->forced_lanes <= 0, &found)) >= 0)
        candidates[*candidate] = found;
    return entry;
}
