/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info --table: what tuning tables say, and whether they hold here. And which settings a job has from them. */
#include "tools/info/coll_info.h"
#include "hier/planner.h"
#include "runtime/base/error.h"
#include <stdlib.h>
#include <string.h>

static struct json_object *bytes_of(uint64_t bytes)
{
    return bytes > INT64_MAX ? json_text_new("any") : json_object_new_int64((int64_t)bytes);
}

static struct json_object *entry_tell(const struct hx_table_entry *e)
{
    char ranks[64];

    snprintf(ranks, sizeof(ranks), e->min_local == e->max_local ? "%d" : "%d to %d", e->min_local, e->max_local);
    return info_new("collective=%s operation=%s datatype=%s memory=%s nodes=%d ranks_per_node=%s placement=%s provider=%s "
                    "from_bytes=%lu to_bytes=%p measured=%p loop=%s plan=%s slice=%p us=%g default_us=%g default_plan=%s",
                    hx_coll_name(e->coll), e->ordered ? "in order" : "any order",
                    hx_coll_reduces(e->coll) ? hx_numbers_names[e->numbers] : NULL, e->shared_alloc ? "of hx_alloc" : NULL,
                    e->nnodes, ranks, e->in_order ? "block" : "other", e->provider[0] ? e->provider : NULL, e->from_bytes,
                    bytes_of(e->to_bytes), e->measured_bytes < 0 ? NULL : json_object_new_int64(e->measured_bytes), e->mixed ? "mixed" : "cold", e->plan,
                    e->slice_bytes ? bytes_of(e->slice_bytes) : NULL, e->us, e->default_us, e->default_plan);
}

static struct json_object *parameter_tell(int k, const char *provider, double value, int points)
{
    const int net = hx_cost_parameters[k].net;

    return info_new("parameter=%s value=%g of=%s points=%d meaning=%s", hx_cost_parameters[k].name, value,
                    net ? provider : "the node", points, hx_cost_parameters[k].about);
}

/* NULL: it cannot be read; an error has been printed. */
static struct json_object *file_tell(const char *path)
{
    struct hx_table *table;
    char why[256], text[512];

    if (hx_table_read(path, &table) != HX_SUCCESS) {
        fprintf(stderr, "coll_info: %s\n", hx_last_detail());
        return NULL;
    }
    struct json_object *entries = json_object_new_array(), *models = json_object_new_array();
    const char *foreign = hx_table_foreign(table, why);
    snprintf(text, sizeof(text), "%s%s", foreign ? "no: " : "yes", foreign ? foreign : "");
    for (int i = 0; i < table->nmodels; i++) {
        const struct hx_table_model *model = &table->models[i];
        for (int k = 0; k < HX_COST_PARAMETERS; k++)
            if (model->values[k] > 0)
                json_object_array_add(models, parameter_tell(k, model->provider, model->values[k], model->points));
    }
    for (int i = 0; i < table->n; i++)
        json_object_array_add(entries, entry_tell(&table->entries[i]));
    struct json_object *o = info_new("file=%s made_by=%s cpu=%s cpus=%d holds_here=%s entries_in_all=%d model=%p entries=%p", path,
                                     table->machine.hierax, table->machine.cpu, table->machine.cpus, text, table->n, models,
                                     entries);
    hx_table_free(table);
    return o;
}

struct json_object *info_table(const char *paths)
{
    struct json_object *all = json_object_new_object();
    char *copy = strdup(paths), *rest = NULL, key[32];
    int n = 0;

    for (char *path = copy ? strtok_r(copy, ":", &rest) : NULL; path && all; path = strtok_r(NULL, ":", &rest)) {
        struct json_object *file = file_tell(path);
        snprintf(key, sizeof(key), "table_%d", ++n);
        json_object_object_add(all, key, file);
        if (!file && json_object_put(all))
            all = NULL;
    }
    free(copy);
    return all;
}

int info_table_has(const struct hx_comm *comm, const char *setting)
{
    const struct hx_tuning *tuning = comm->world->tuning;
    const struct hx_table_entry *entries = tuning ? tuning->entries : NULL;
    size_t n = tuning ? (comm->world->tuning_bytes - sizeof(*tuning)) / sizeof(*entries) : 0;
    struct hx_net_profile profile;
    struct hx_table_entry key;
    char name[64] = "HX_";

    hx_world_profile(comm->world, &profile);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "HX_%s", hx_coll_name(entries[i].coll));
        struct hx_traits traits = {.folding = entries[i].ordered ? HX_FOLDS_IN_ORDER : HX_FOLDS_ALIKE, .numbers = entries[i].numbers,
                                   .shared_alloc = entries[i].shared_alloc};
        hx_table_key(&key, entries[i].coll, traits, comm->members.shape, profile.provider);
        if (!strncasecmp(name, setting, strlen(setting)) && (!name[strlen(setting)] || !strcmp(name + strlen(setting), "_block")) &&
            hx_table_same_key(&entries[i], &key))
            return 1;
    }
    return 0;
}

struct json_object *info_model(const struct hx_comm *comm)
{
    struct json_object *list = json_object_new_array();
    const struct hx_planner *planner = comm->members.planner;
    const struct hx_cost_params before = planner->cost;
    struct hx_cost_params params = hx_planner_params(planner);

    for (int k = 0; k < HX_COST_PARAMETERS; k++) {
        const int net = hx_cost_parameters[k].net, points = net ? planner->net_points : planner->node_points;
        if (net && comm->members.shape->nnodes == 1)
            continue;
        struct json_object *o = parameter_tell(k, planner->provider, *hx_cost_parameter(&params, k), points);
        const int by_constants = memcmp((const char *)&before + hx_cost_parameters[k].offset, hx_cost_parameter(&params, k), sizeof(double)) != 0;
        info_add(o, "source=%s", by_constants ? hx_constants_source_names[net ? HX_CONSTANTS_MEASURED : planner->constants.source] : points ? "table" : "default");
        json_object_array_add(list, o);
    }
    return list;
}
