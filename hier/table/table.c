/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning table in memory: finding, adding, and whether it holds for this machine. */
#include "hier/table/table.h"
#include "runtime/base/error.h"
#include "topo/cpu_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (strcmp(made->hierax, here.hierax) != 0)
        snprintf(text, 256, "it was made by Hierax %s, this is %s", made->hierax, here.hierax);
    else if (strcmp(made->cpu, here.cpu) != 0)
        snprintf(text, 256, "it was made on \"%s\", this machine has \"%s\"", made->cpu, here.cpu);
    else if (made->cpus != here.cpus)
        snprintf(text, 256, "it was made on %d processing units, this machine has %d", made->cpus, here.cpus);
    else
        return NULL;
    return text;
}

const char *const hx_numbers_names[HX_NUMBERS_COUNT] = {
    [HX_NUMBERS_FLOAT] = "float", [HX_NUMBERS_HALF] = "half", [HX_NUMBERS_INTEGER] = "integer", [HX_NUMBERS_OWN] = "own"};

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
        snprintf(entry->provider, sizeof(entry->provider), "%s", provider);
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

/* What is left of one of the table's entries, beside the new one: 0 to 2 pieces. */
static int cut(const struct hx_table_entry *old, const struct hx_table_entry *added, struct hx_table_entry pieces[2])
{
    int n = 0;

    if (!hx_table_same_key(old, added) || old->to_bytes < added->from_bytes || added->to_bytes < old->from_bytes) {
        pieces[n++] = *old;
        return n;
    }
    if (old->from_bytes < added->from_bytes) {
        pieces[n] = *old;
        pieces[n++].to_bytes = added->from_bytes - 1;
    }
    if (old->to_bytes > added->to_bytes) {
        pieces[n] = *old;
        pieces[n++].from_bytes = added->to_bytes + 1;
    }
    return n;
}

/* Those of one key stand by their sizes. */
static hx_status_t insert(struct hx_table *table, const struct hx_table_entry *entry)
{
    struct hx_table_entry *entries = malloc((2 * (size_t)table->n + 1) * sizeof(*entries));
    int n = 0, added = 0;

    if (!entries)
        return hx_fail(HX_ERR_NOMEM, "no memory for a table of %d entries", table->n);
    for (int i = 0; i < table->n; i++) {
        struct hx_table_entry pieces[2];
        int npieces = cut(&table->entries[i], entry, pieces);
        for (int k = 0; k < npieces; k++) {
            if (!added && hx_table_same_key(&pieces[k], entry) && pieces[k].from_bytes > entry->to_bytes) {
                entries[n++] = *entry;
                added = 1;
            }
            entries[n++] = pieces[k];
        }
    }
    if (!added)
        entries[n++] = *entry;
    free(table->entries);
    table->entries = entries;
    table->n = n;
    return HX_SUCCESS;
}

/* As most come: with no other of its key for these sizes or larger ones. */
static int goes_last(const struct hx_table *table, const struct hx_table_entry *entry)
{
    for (int i = 0; i < table->n; i++)
        if (table->entries[i].to_bytes >= entry->from_bytes && hx_table_same_key(&table->entries[i], entry))
            return 0;
    return 1;
}

hx_status_t hx_table_add(struct hx_table *table, const struct hx_table_entry *entry)
{
    size_t room = (size_t)table->n + 1;
    struct hx_table_entry *entries;

    if (!goes_last(table, entry))
        return insert(table, entry);
    if (!(entries = realloc(table->entries, room * sizeof(*entries))))
        return hx_fail(HX_ERR_NOMEM, "no memory for a table of %zu entries", room);
    entries[table->n++] = *entry;
    table->entries = entries;
    return HX_SUCCESS;
}
