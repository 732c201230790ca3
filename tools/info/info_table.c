/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info --table: what tuning tables say, and whether they hold here. And which settings a job has from them. */
#include "tools/info/coll_info.h"
#include "hier/planner.h"
#include "runtime/base/error.h"
#include <stdlib.h>
#include <string.h>

static struct json_object *entry_tell(const struct hx_table_entry *e)
{
    struct json_object *o = json_object_new_object();
    char text[64];

    json_add_text(o, "collective", hx_coll_name(e->coll));
    json_add_text(o, "operation", e->ordered ? "in order" : "any order");
    json_add_text(o, "datatype", hx_coll_reduces(e->coll) ? hx_numbers_names[e->numbers] : NULL);
    json_add_text(o, "memory", e->shared_alloc ? "of hx_alloc" : NULL);
    json_add_int(o, "nodes", e->nnodes);
    snprintf(text, sizeof(text), e->min_local == e->max_local ? "%d" : "%d to %d", e->min_local, e->max_local);
    json_add_text(o, "ranks_per_node", text);
    json_add_text(o, "placement", e->in_order ? "block" : "other");
    json_add_text(o, "provider", e->provider[0] ? e->provider : NULL);
    json_add_int(o, "from_bytes", (int64_t)e->from_bytes);
    if (e->to_bytes > INT64_MAX)
        json_add_text(o, "to_bytes", "any");
    else
        json_add_int(o, "to_bytes", (int64_t)e->to_bytes);
    if (e->measured_bytes >= 0)
        json_add_int(o, "measured", e->measured_bytes);
    else
        json_add_text(o, "measured", NULL);
    json_add_text(o, "plan", e->plan);
    json_add_text(o, "slice", NULL);
    if (e->slice_bytes)
        json_add_int(o, "slice", (int64_t)e->slice_bytes);
    json_add_real(o, "us", "%.6g", e->us);
    json_add_real(o, "default_us", "%.6g", e->default_us);
    json_add_text(o, "default_plan", e->default_plan);
    return o;
}

static struct json_object *parameter_tell(int k, const char *provider, double value, int points)
{
    struct json_object *o = json_object_new_object();

    json_add_text(o, "parameter", hx_cost_parameters[k].name);
    json_add_real(o, "value", "%.6g", value);
    json_add_text(o, "of", hx_cost_parameters[k].net ? provider : "the node");
    json_add_int(o, "points", points);
    json_add_text(o, "meaning", hx_cost_parameters[k].about);
    return o;
}

/* NULL: it cannot be read; that has been told. */
static struct json_object *file_tell(const char *path)
{
    struct json_object *o = json_object_new_object(), *entries = json_object_new_array(),
                       *models = json_object_new_array();
    struct hx_table *table;
    char why[256], text[512];

    if (hx_table_read(path, &table) != HX_SUCCESS) {
        fprintf(stderr, "coll_info: %s\n", hx_last_detail());
        json_object_put(o);
        json_object_put(entries);
        json_object_put(models);
        return NULL;
    }
    const char *foreign = hx_table_foreign(table, why);
    json_add_text(o, "file", path);
    json_add_text(o, "made_by", table->machine.hierax);
    json_add_text(o, "cpu", table->machine.cpu);
    json_add_int(o, "cpus", table->machine.cpus);
    snprintf(text, sizeof(text), "%s%s", foreign ? "no: " : "yes", foreign ? foreign : "");
    json_add_text(o, "holds_here", text);
    json_add_int(o, "entries_in_all", table->n);
    for (int i = 0; i < table->nmodels; i++)
        for (int k = 0; k < HX_COST_PARAMETERS; k++)
            if (table->models[i].values[k] > 0)
                json_object_array_add(models, parameter_tell(k, table->models[i].provider, table->models[i].values[k],
                                                             table->models[i].points));
    json_object_object_add(o, "model", models);
    for (int i = 0; i < table->n; i++)
        json_object_array_add(entries, entry_tell(&table->entries[i]));
    json_object_object_add(o, "entries", entries);
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
        if (file) {
            json_object_object_add(all, key, file);
        } else {
            json_object_put(all);
            all = NULL;
        }
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
        struct hx_traits traits = {entries[i].ordered ? HX_FOLDS_IN_ORDER : HX_FOLDS_ALIKE, entries[i].numbers, entries[i].shared_alloc};
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
    struct hx_cost_params params = planner->cost;

    for (int k = 0; k < HX_COST_PARAMETERS; k++) {
        int net = hx_cost_parameters[k].net, points = net ? planner->net_points : planner->node_points;
        struct json_object *o = parameter_tell(k, planner->provider, *hx_cost_parameter(&params, k), points);
        if (net && comm->members.shape->nnodes == 1) {
            json_object_put(o);
            continue;
        }
        json_add_text(o, "source", points ? "table" : "default");
        json_object_array_add(list, o);
    }
    return list;
}
