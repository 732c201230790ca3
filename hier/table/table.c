/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning table in memory: finding, adding, and whether it holds for this machine. */
#include "hier/table/table.h"
#include "runtime/base/error.h"
#include "runtime/base/provider_name.h"
#include "topo/cpu_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char hx_table_schema[] =
#include "hier/table/schema.inc" /* make writes it: the lines of schema.json as a string */
    ;

static void machine_here(struct hx_table_machine *machine)
{
    memset(machine, 0, sizeof(*machine));
    snprintf(machine->hierax, sizeof(machine->hierax), "%s", hx_version());
    hx_cpu_model(machine->cpu);
    machine->cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
}

struct hx_table *hx_table_new(void)
{
    struct hx_table *table = calloc(1, sizeof(*table));

    if (table)
        machine_here(&table->machine);
    return table;
}

void hx_table_free(struct hx_table *table)
{
    if (table)
        free(table->entries);
    free(table);
}

const char *hx_table_foreign(const struct hx_table *table, char text[256])
{
    const struct hx_table_machine *made = &table->machine;
    struct hx_table_machine here;

    machine_here(&here);
    if (strcmp(made->cpu, here.cpu) != 0)
        snprintf(text, 256, "it was made on \"%s\", this machine has \"%s\"", made->cpu, here.cpu);
    else if (made->cpus != here.cpus)
        snprintf(text, 256, "it was made on %d processing units, this machine has %d", made->cpus, here.cpus);
    else
        return NULL;
    return text;
}

const char *const hx_numbers_names[HX_NUMBERS_COUNT] = {
    [HX_NUMBERS_FLOAT] = "float", [HX_NUMBERS_HALF] = "half", [HX_NUMBERS_INTEGER] = "integer", [HX_NUMBERS_OWN] = "own"};

const char *hx_table_provider(const char *provider)
{
    return strcmp(provider, HX_TCP_NAME_BEFORE) != 0 ? provider : HX_TCP_NAME;
}

/* A scan is in order whatever the operation. */
void hx_table_key(struct hx_table_entry *entry, enum hx_coll coll, struct hx_traits traits, const struct hx_shape *shape,
                  const char *provider)
{
    memset(entry, 0, sizeof(*entry));
    entry->coll = coll;
    entry->ordered = traits.folding == HX_FOLDS_IN_ORDER && hx_coll_reduces(coll) && !hx_coll_is_scan(coll);
    entry->numbers = hx_coll_reduces(coll) ? traits.numbers : HX_NUMBERS_FLOAT;
    entry->shared_alloc = traits.shared_alloc;
    entry->nnodes = shape->nnodes;
    entry->min_local = shape->min_local;
    entry->max_local = shape->max_local;
    entry->in_order = hx_shape_is_in_order(shape);
    if (shape->nnodes > 1 && provider)
        snprintf(entry->provider, sizeof(entry->provider), "%s", hx_table_provider(provider));
}

static int key_order(const struct hx_table_entry *a, const struct hx_table_entry *b)
{
    const int pairs[][2] = {{(int)a->coll, (int)b->coll}, {a->ordered, b->ordered}, {(int)a->numbers, (int)b->numbers},
                            {a->shared_alloc, b->shared_alloc}, {a->nnodes, b->nnodes}, {a->min_local, b->min_local},
                            {a->max_local, b->max_local}, {b->in_order, a->in_order}};

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return strcmp(a->provider, b->provider);
}

int hx_table_same_key(const struct hx_table_entry *a, const struct hx_table_entry *b)
{
    return key_order(a, b) == 0;
}

const struct hx_table_entry *hx_table_find(const struct hx_table_entry *entries, int n,
                                           const struct hx_table_entry *key, uint64_t bytes)
{
    for (int i = 0; i < n; i++)
        if (entries[i].from_bytes <= bytes && bytes <= entries[i].to_bytes && hx_table_same_key(&entries[i], key))
            return &entries[i];
    return NULL;
}

static int entry_order(const void *x, const void *y)
{
    const struct hx_table_entry *a = x, *b = y;
    int order = key_order(a, b);

    return order ? order : (a->from_bytes > b->from_bytes) - (a->from_bytes < b->from_bytes);
}

const struct hx_table_entry *hx_table_sort(struct hx_table *table)
{
    if (table->n > 1)
        qsort(table->entries, (size_t)table->n, sizeof(*table->entries), entry_order);
    for (int i = 1; i < table->n; i++)
        if (hx_table_same_key(&table->entries[i - 1], &table->entries[i]) &&
            table->entries[i - 1].to_bytes >= table->entries[i].from_bytes)
            return &table->entries[i - 1];
    return NULL;
}

static void put(struct hx_table *table, int at, const struct hx_table_entry *entry)
{
    memmove(table->entries + at + 1, table->entries + at, (size_t)(table->n - at) * sizeof(*entry));
    table->entries[at] = *entry;
    table->n++;
}

/* Those of one key stand by their sizes. One that holds for sizes on both sides of the new entry's becomes two. */
hx_status_t hx_table_add(struct hx_table *table, const struct hx_table_entry *entry)
{
    size_t room = (size_t)table->n + 2;
    struct hx_table_entry *entries = realloc(table->entries, room * sizeof(*entries));
    int at = -1;

    if (!entries)
        return hx_fail(HX_ERR_NOMEM, "no memory for a table of %zu entries", room);
    table->entries = entries;
    for (int i = 0; i < table->n; i++) {
        struct hx_table_entry old = entries[i];
        if (old.to_bytes < entry->from_bytes || !hx_table_same_key(&old, entry))
            continue;
        if (old.from_bytes < entry->from_bytes)
            entries[i++].to_bytes = entry->from_bytes - 1;
        else if (old.from_bytes <= entry->to_bytes)
            memmove(entries + i, entries + i + 1, (size_t)(--table->n - i) * sizeof(*entries));
        if (old.to_bytes <= entry->to_bytes) {
            i--;
            continue;
        }
        at = at < 0 ? i : at;
        if (old.from_bytes <= entry->to_bytes) {
            old.from_bytes = entry->to_bytes + 1;
            put(table, i, &old);
        }
    }
    put(table, at < 0 ? table->n : at, entry);
    return HX_SUCCESS;
}

/* ---- measured parameters of the cost model */

static int is_of_kind(const struct hx_table_model *model, int k)
{
    return hx_cost_parameters[k].net == (model->provider[0] != 0);
}

const struct hx_table_model *hx_table_model(const struct hx_table *table, const char *provider)
{
    for (int i = 0; i < table->nmodels; i++)
        if (!strcmp(table->models[i].provider, hx_table_provider(provider)))
            return &table->models[i];
    return NULL;
}

hx_status_t hx_table_model_add(struct hx_table *table, const struct hx_table_model *model)
{
    int at = 0;

    while (at < table->nmodels && strcmp(table->models[at].provider, model->provider) != 0)
        at++;
    if (at == HX_TABLE_MODELS)
        return hx_fail(HX_ERR_ENV, "a table holds the models of %d providers at most", HX_TABLE_MODELS - 1);
    table->models[at] = *model;
    table->nmodels += at == table->nmodels;
    return HX_SUCCESS;
}

void hx_table_model_fill(struct hx_table_model *model, const char *provider, const struct hx_cost_params *params,
                         int points)
{
    struct hx_cost_params all = *params;

    *model = (struct hx_table_model){.points = points};
    snprintf(model->provider, sizeof(model->provider), "%s", hx_table_provider(provider));
    for (int k = 0; k < HX_COST_PARAMETERS; k++)
        if (is_of_kind(model, k))
            model->values[k] = *hx_cost_parameter(&all, k);
}

void hx_table_model_use(const struct hx_table_model *model, struct hx_cost_params *params)
{
    for (int k = 0; k < HX_COST_PARAMETERS && model->points > 0; k++)
        if (model->values[k] > 0)
            *hx_cost_parameter(params, k) = model->values[k];
}

/* ---- older names of providers */

static int is_renamed(const char *provider)
{
    return hx_table_provider(provider) != provider;
}

static void models_rename(struct hx_table *table)
{
    for (int i = 0; i < table->nmodels; i++) {
        struct hx_table_model *model = &table->models[i];
        if (!is_renamed(model->provider))
            continue;
        if (hx_table_model(table, model->provider)) /* of the newer name */
            *model = table->models[--table->nmodels];
        else
            strcpy(model->provider, hx_table_provider(model->provider));
    }
}

/* Add these n entries, those of older names first. */
static hx_status_t entries_join(struct hx_table *table, const struct hx_table_entry *entries, int n)
{
    hx_status_t status = HX_SUCCESS;

    table->n = 0;
    for (int older = 1; older >= 0; older--)
        for (int i = 0; i < n && status == HX_SUCCESS; i++) {
            struct hx_table_entry entry = entries[i];
            strcpy(entry.provider, hx_table_provider(entries[i].provider));
            if (is_renamed(entries[i].provider) == older)
                status = hx_table_add(table, &entry);
        }
    hx_table_sort(table);
    return status;
}

hx_status_t hx_table_rename(struct hx_table *table)
{
    const size_t bytes = (size_t)table->n * sizeof(*table->entries);
    struct hx_table_entry *before = bytes ? malloc(bytes) : NULL;
    hx_status_t status = HX_SUCCESS;
    const int n = table->n;

    models_rename(table);
    if (!bytes)
        return HX_SUCCESS;
    if (!before)
        return hx_fail(HX_ERR_NOMEM, "no memory for a table of %d entries", n);
    memcpy(before, table->entries, bytes);
    for (int i = 0; i < n; i++)
        strcpy(table->entries[i].provider, hx_table_provider(before[i].provider));
    if (hx_table_sort(table)) /* entries of both names for the same */
        status = entries_join(table, before, n);
    free(before);
    return status;
}
