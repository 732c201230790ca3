/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's commands that need no job: tables are read, compared and joined. */
#include "tools/tune/coll_tune.h"
#include <stdlib.h>
#include <string.h>

/* "allreduce 2 nodes x 2 ranks" */
static const char *key_text(const struct hx_table_entry *e, char text[256])
{
    char ranks[48];

    snprintf(ranks, sizeof(ranks), e->min_local == e->max_local ? "%d" : "%d to %d", e->min_local, e->max_local);
    snprintf(text, 256, "%s%s%s%s%s, %d x %s ranks%s%s%s", hx_coll_name(e->coll), e->numbers != HX_NUMBERS_FLOAT ? " of datatype " : "",
             e->numbers != HX_NUMBERS_FLOAT ? hx_numbers_names[e->numbers] : "", e->ordered ? " (not commutative)" : "",
             e->shared_alloc ? ", memory of hx_alloc" : "", e->nnodes, ranks,
             e->in_order ? "" : ", other placement", e->provider[0] ? ", " : "", e->provider);
    return text;
}

static const char *range_text(uint64_t from, uint64_t to, char text[64])
{
    if (to > INT64_MAX)
        snprintf(text, 64, "from %llu bytes on", (unsigned long long)from);
    else
        snprintf(text, 64, "%llu to %llu bytes", (unsigned long long)from, (unsigned long long)to);
    return text;
}

/* ---- check ----------------------------------------------------------------------------------------------------------- */

static int check(const struct tune_options *o)
{
    int status = 0;

    for (int f = 0; f < o->nfiles; f++) {
        struct hx_table *table = tune_table_read(o->files[f]);
        int changed = 0, slower = 0;
        char text[256], why[OPTION_TEXT_BYTES];
        if (!table) {
            status = 2;
            continue;
        }
        for (int i = 0; i < table->n; i++) {
            const struct hx_table_entry *e = &table->entries[i];
            changed += strcmp(e->plan, e->default_plan) != 0 || e->slice_bytes;
            slower += e->us > e->default_us * (1 + TUNE_MARGIN);
            if (tune_entry_check(e, why) < 0) {
                fprintf(stderr, "%s:%d: %s\n", o->files[f], e->line, why);
                status = 2;
            }
        }
        printf("%s: %d entries, %d of them other than the default; Hierax %s, %s, %d processing units\n", o->files[f], table->n, changed,
               table->machine.hierax, table->machine.cpu, table->machine.cpus);
        for (int i = 0; i < table->nmodels; i++)
            printf("%s: cost model of %s, fitted to %d points\n", o->files[f],
                   table->models[i].provider[0] ? table->models[i].provider : "the node", table->models[i].points);
        if (slower)
            printf("%s: warning: %d entries measured slower than the default\n", o->files[f], slower);
        if (hx_table_foreign(table, text))
            printf("%s: warning: jobs on this machine will not use it: %s\n", o->files[f], text);
        hx_table_free(table);
    }
    return status;
}

/* ---- merge ----------------------------------------------------------------------------------------------------------- */

static int machines_differ(const struct hx_table *a, const struct hx_table *b)
{
    return strcmp(a->machine.hierax, b->machine.hierax) || strcmp(a->machine.cpu, b->machine.cpu) || a->machine.cpus != b->machine.cpus;
}

static int merge(const struct tune_options *o)
{
    struct hx_table *all = tune_table_read(o->files[0]);
    int status = all ? 0 : 2;

    for (int f = 1; f < o->nfiles && status == 0; f++) {
        struct hx_table *table = tune_table_read(o->files[f]);
        if (!table) {
            status = 2;
        } else if (machines_differ(all, table)) {
            fprintf(stderr, "coll_tune: %s is for Hierax %s on %d x %s, %s for Hierax %s on %d x %s: a table is for one kind\n",
                    o->files[0], all->machine.hierax, all->machine.cpus, all->machine.cpu, o->files[f], table->machine.hierax,
                    table->machine.cpus, table->machine.cpu);
            status = 2;
        }
        for (int i = 0; status == 0 && i < table->nmodels; i++)
            status = hx_table_model_add(all, &table->models[i]) == HX_SUCCESS ? 0 : 2;
        for (int i = 0; status == 0 && i < table->n; i++)
            if (hx_table_add(all, &table->entries[i]) != HX_SUCCESS)
                status = 1;
        hx_table_free(table);
    }
    if (status == 0 && tune_table_write(all, o->output))
        status = 2;
    if (status == 0)
        fprintf(strcmp(o->output, "-") ? stdout : stderr, "%s: %d entries\n", o->output, all->n);
    else
        fprintf(stderr, "coll_tune: %s was not written\n", o->output);
    hx_table_free(all);
    return status;
}

/* ---- diff ------------------------------------------------------------------------------------------------------------ */

struct tally {
    int same, other, within; /* of the others: within 5 % of each other, relative to the default */
};

/* By the default's time in the same run: a machine is not as fast in every run. */
static double time_of(const struct hx_table_entry *e)
{
    return e->default_us > 0 ? e->us / e->default_us : 0;
}

/* Where entries of both tables meet. */
static void entry_compare(const struct hx_table_entry *a, const struct hx_table *table, struct tally *tally)
{
    char text[256], range[64];

    for (int i = 0; i < table->n; i++) {
        const struct hx_table_entry *b = &table->entries[i];
        uint64_t from = a->from_bytes > b->from_bytes ? a->from_bytes : b->from_bytes;
        uint64_t to = a->to_bytes < b->to_bytes ? a->to_bytes : b->to_bytes;
        if (!hx_table_same_key(a, b) || from > to)
            continue;
        if (!strcmp(a->plan, b->plan) && a->slice_bytes == b->slice_bytes) {
            tally->same++;
            continue;
        }
        double ratio = time_of(a) > 0 ? time_of(b) / time_of(a) : 0;
        tally->other++;
        tally->within += ratio > 1 / 1.05 && ratio < 1.05;
        printf("%s, %s: %s slice %llu (%.2f us, default %.2f) against %s slice %llu (%.2f us, default %.2f)\n", key_text(a, text), range_text(from, to, range), a->plan,
               (unsigned long long)a->slice_bytes, a->us, a->default_us, b->plan, (unsigned long long)b->slice_bytes, b->us,
               b->default_us);
    }
}

static int only_tell(const char *path, const struct hx_table *table, const struct hx_table *other)
{
    int only = 0;

    for (int i = 0; i < table->n; i++) {
        const struct hx_table_entry *a = &table->entries[i];
        char text[256], range[64];
        int met = 0;
        for (int k = 0; k < other->n; k++)
            met |= hx_table_same_key(a, &other->entries[k]) && a->from_bytes <= other->entries[k].to_bytes &&
                   other->entries[k].from_bytes <= a->to_bytes;
        if (!met)
            printf("only in %s: %s, %s: %s\n", path, key_text(a, text), range_text(a->from_bytes, a->to_bytes, range), a->plan);
        only += !met;
    }
    return only;
}

/* Models tell how much their parameters differ; that alone makes no difference: two runs never find the same. */
static void models_compare(const struct hx_table *a, const struct hx_table *b)
{
    for (int i = 0; i < a->nmodels; i++) {
        const struct hx_table_model *other = hx_table_model(b, a->models[i].provider);
        for (int k = 0; other && k < HX_COST_PARAMETERS; k++)
            if (a->models[i].values[k] > 0 && other->values[k] > 0 && a->models[i].values[k] != other->values[k])
                printf("# model of %s: %s %.4g against %.4g\n", other->provider[0] ? other->provider : "the node",
                       hx_cost_parameters[k].name, a->models[i].values[k], other->values[k]);
    }
}

static int diff(const struct tune_options *o)
{
    struct hx_table *a = tune_table_read(o->files[0]), *b = tune_table_read(o->files[1]);
    struct tally tally = {0};
    int only = 0, status = 2;

    if (a && b) {
        for (int i = 0; i < a->n; i++)
            entry_compare(&a->entries[i], b, &tally);
        models_compare(a, b);
        only = only_tell(o->files[0], a, b) + only_tell(o->files[1], b, a);
        printf("# %d the same, %d others (%d of them within 5 %% of each other, relative to the default), %d in one table only\n", tally.same, tally.other, tally.within,
               only);
        status = tally.other || only;
    }
    hx_table_free(a);
    hx_table_free(b);
    return status;
}

int tune_files(const struct tune_options *o)
{
    int status = 0;

    switch (o->command) {
    case TUNE_CHECK: status = check(o); break;
    case TUNE_MERGE: status = merge(o); break;
    case TUNE_DIFF: status = diff(o); break;
    case TUNE_JUDGE: status = tune_judge(o); break;
    case TUNE_MODEL: status = tune_model(o); break;
    case TUNE_SCHEMA: printf("%s", hx_table_schema); break;
    default: return tune_options_answer(o);
    }
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_tune: standard output");
        return 1;
    }
    return status;
}
