/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tune's commands that need no job: tables are read, compared and joined. */
#include "tools/tune/coll_tune.h"
#include "runtime/base/error.h"
#include "runtime/base/size.h"
#include "tools/common/options.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_MOST (1 << 20)        /* of a shape that is tried */
#define BYTES_MOST ((uint64_t)1 << 40)

/* ---- reading and writing a table ------------------------------------------------------------------------------------- */

struct hx_table *tune_table_read(const char *path)
{
    struct hx_table *table = NULL;

    if (hx_table_read(path, &table) == HX_SUCCESS)
        return table;
    fprintf(stderr, "coll_tune: %s\n", hx_last_detail());
    return NULL;
}

int tune_table_write(const struct hx_table *table, const char *path)
{
    const int regular = whole_file_is_regular(path);
    char error[OPTION_TEXT_BYTES] = "";
    struct whole_file file;

    if (whole_file_open(&file, path)) {
        hx_table_print(file.out, table);
        /* on the disk before it has the name: what a long run found outlives a crash. Pipes cannot, and need not. */
        whole_file_flush(&file);
        if (!file.error && regular && ftell(file.out) > HX_TABLE_MAX_BYTES) {
            snprintf(error, sizeof(error), "--output=%.1000s: a table of %ld bytes; jobs read at most %d", path, ftell(file.out), HX_TABLE_MAX_BYTES);
            file.error = EFBIG;
        }
        if (!file.error && regular && fsync(fileno(file.out)) != 0)
            file.error = errno;
    }
    if (whole_file_end(&file, "output", path, error) == 0)
        return 0;
    fprintf(stderr, "coll_tune: %s\n", error);
    return -1;
}

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
    char least[HX_SIZE_BYTES], most[HX_SIZE_BYTES];

    if (to > INT64_MAX)
        snprintf(text, 64, "from %s on", hx_size_format(from, least));
    else
        snprintf(text, 64, "%s to %s", hx_size_format(from, least), hx_size_format(to, most));
    return text;
}

/* ---- check ----------------------------------------------------------------------------------------------------------- */

/* The plans that a job has for an entry, at all sizes that it holds for. */
struct choices {
    struct hx_planner planner;
    char names[HX_MAX_CANDIDATES][HX_CANDIDATE_NAME_BYTES];
    int n;
};

static struct hx_shape *shape_of(const struct hx_table_entry *e)
{
    char text[128], error[HX_TOPO_ERROR_BYTES];
    const char *placement = e->in_order ? "" : ":cyclic", *levels = strstr(e->plan, "_levels") ? "/2" : "";
    struct hx_shape *shape;

    if (e->nnodes == 1 || e->min_local == e->max_local)
        snprintf(text, sizeof(text), "%dx%d%s%s", e->nnodes, e->max_local, levels, placement);
    else
        snprintf(text, sizeof(text), "1x%d%s,%dx%d%s%s", e->max_local, levels, e->nnodes - 1, e->min_local, levels, placement);
    shape = hx_shape_parse(text, error);
    if (shape && shape->min_local == e->min_local && hx_shape_is_in_order(shape) == e->in_order)
        return shape;
    hx_shape_free(shape);
    return NULL;
}

/* Is the entry's plan one of those for a vector of so many bytes? Keeps the names of all, if there is room. */
static int is_choice(struct choices *c, const struct hx_table_entry *e, uint64_t bytes)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback;
    enum hx_folding folding = e->ordered                            ? HX_FOLDS_IN_ORDER
                              : e->numbers == HX_NUMBERS_INTEGER ? HX_FOLDS_EXACTLY
                                                                    : HX_FOLDS_ALIKE;
    int n = hx_planner_candidates(&c->planner, e->coll, 0, folding, (double)bytes, candidates, &fallback);
    struct hx_candidate found;

    if (hx_candidate_find(candidates, n, e->plan, c->planner.shape, 1, &found) >= 0)
        return 1;
    for (int i = 0, k; i < n && c->n < HX_MAX_CANDIDATES; i++) {
        hx_candidate_name(&candidates[i], c->names[c->n]);
        for (k = 0; strcmp(c->names[k], c->names[c->n]); k++)
            ;
        c->n += k == c->n;
    }
    return 0;
}

static int is_choice_somewhere(struct choices *c, const struct hx_table_entry *e)
{
    const uint64_t most = e->to_bytes < BYTES_MOST ? e->to_bytes : BYTES_MOST;

    if (e->measured_bytes >= 0 && is_choice(c, e, (uint64_t)e->measured_bytes))
        return 1;
    for (uint64_t bytes = e->from_bytes; bytes < most; bytes = bytes ? 2 * bytes : 1)
        if (is_choice(c, e, bytes))
            return 1;
    return is_choice(c, e, most);
}

/* Can the planner choose what an entry says, in a job of its shape? 0, or -1 and why not. */
static int entry_check(const struct hx_table_entry *e, char text[OPTION_TEXT_BYTES])
{
    static struct choices c;
    const struct hx_env none = {0};
    const struct hx_job job = {.llc_bytes = 32 << 20, .single_copy = 1, .max_local = e->max_local};
    const char *names[HX_MAX_CANDIDATES + 1] = {NULL};
    struct hx_shape *shape = NULL;
    int status = -1;

    c.n = 0;
    if ((int64_t)e->nnodes * e->max_local > RANKS_MOST)
        status = 0; /* too many ranks to find out here */
    else if (!(shape = shape_of(e)))
        snprintf(text, OPTION_TEXT_BYTES, "no job can have %d nodes, %d to %d ranks on each and this placement", e->nnodes, e->min_local, e->max_local);
    else if (hx_planner_init(&c.planner, &none, shape, 0, &job, NULL) != HX_SUCCESS)
        snprintf(text, OPTION_TEXT_BYTES, "no plans for this shape");
    else if (is_choice_somewhere(&c, e))
        status = 0;
    else if (hx_candidate_name_is_known(e->plan))
        snprintf(text, OPTION_TEXT_BYTES, "%s is not possible for %s on %d nodes of %d to %d ranks at these sizes", e->plan, hx_coll_name(e->coll),
                 e->nnodes, e->min_local, e->max_local);
    else {
        for (int i = 0; i < c.n; i++)
            names[i] = c.names[i];
        option_choose("plan", e->plan, names, text);
    }
    hx_shape_free(shape);
    return status;
}

static int check(const struct tune_options *o)
{
    int status = 0;

    for (int f = 0; f < o->nfiles; f++) {
        struct hx_table *table = tune_table_read(o->files[f]);
        int changed = 0, slower = 0, cold = 0;
        char text[256], why[OPTION_TEXT_BYTES];
        if (!table) {
            status = 2;
            continue;
        }
        for (int i = 0; i < table->n; i++) {
            const struct hx_table_entry *e = &table->entries[i];
            cold += !e->mixed;
            changed += strcmp(e->plan, e->default_plan) != 0 || e->slice_bytes;
            slower += e->us > e->default_us * (1 + TUNE_MARGIN);
            if (entry_check(e, why) < 0) {
                fprintf(stderr, "%s:%d: %s\n", o->files[f], e->line, why);
                status = 2;
            }
        }
        printf("%s: %d entries, %d with another plan than the default; Hierax %s, %s, %d processing units\n", o->files[f], table->n, changed,
               table->machine.hierax, table->machine.cpu, table->machine.cpus);
        for (int i = 0; i < table->nmodels; i++)
            printf("%s: cost model of %s, fitted to %d points\n", o->files[f],
                   table->models[i].provider[0] ? table->models[i].provider : "the node", table->models[i].points);
        if (cold)
            printf("%s: %d entries were measured with cold calls only; run coll_tune again to measure warm calls too\n", o->files[f], cold);
        if (slower)
            printf("%s: warning: %d entries measured slower than the default\n", o->files[f], slower);
        if (hx_table_foreign(table, text))
            printf("%s: warning: jobs on this machine will not use it: %s\n", o->files[f], text);
        hx_table_free(table);
    }
    return status;
}

/* ---- merge ----------------------------------------------------------------------------------------------------------- */

/* ---- merge ----------------------------------------------------------------------------------------------------------- */

int tune_machines_differ(const struct hx_table_machine *a, const struct hx_table_machine *b)
{
    return strcmp(a->hierax, b->hierax) || strcmp(a->cpu, b->cpu) || a->cpus != b->cpus;
}

static int merge(const struct tune_options *o)
{
    struct hx_table *all = tune_table_read(o->files[0]);
    int status = all ? 0 : 2;

    for (int f = 1; f < o->nfiles && status == 0; f++) {
        struct hx_table *table = tune_table_read(o->files[f]);
        if (!table) {
            status = 2;
        } else if (tune_machines_differ(&all->machine, &table->machine)) {
            fprintf(stderr, "coll_tune: %s is for Hierax %s on %d x %s; %s is for Hierax %s on %d x %s. A table must be for one version "
                            "and one kind of machine\n", o->files[0], all->machine.hierax, all->machine.cpus, all->machine.cpu, o->files[f], table->machine.hierax,
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
    int same, other, only;
    int within; /* of the others: within 5 % of each other, relative to the default */
};

/* By the default's time in the same run: a machine is not as fast in every run. */
static double time_of(const struct hx_table_entry *e)
{
    return e->default_us > 0 ? e->us / e->default_us : 0;
}

/* Do they hold for some of the same sizes? */
static int meet(const struct hx_table_entry *a, const struct hx_table_entry *b)
{
    return hx_table_same_key(a, b) && a->from_bytes <= b->to_bytes && b->from_bytes <= a->to_bytes;
}

/* Compare two entries at the sizes that both hold for. */
static void entry_compare(const struct hx_table_entry *a, const struct hx_table_entry *b, struct tally *tally)
{
    const uint64_t from = a->from_bytes > b->from_bytes ? a->from_bytes : b->from_bytes, to = a->to_bytes < b->to_bytes ? a->to_bytes : b->to_bytes;
    const double ratio = time_of(a) > 0 ? time_of(b) / time_of(a) : 0;
    char text[256], range[64];

    if (!strcmp(a->plan, b->plan) && a->slice_bytes == b->slice_bytes) {
        tally->same++;
        return;
    }
    tally->other++;
    tally->within += ratio > 1 / 1.05 && ratio < 1.05;
    printf("%s, %s: %s slice %llu (%.2f us, default %.2f) against %s slice %llu (%.2f us, default %.2f)\n", key_text(a, text),
           range_text(from, to, range), a->plan, (unsigned long long)a->slice_bytes, a->us, a->default_us, b->plan,
           (unsigned long long)b->slice_bytes, b->us, b->default_us);
}

/* Compare each entry of a table with those of another. second: the other table's entries have been compared with these already, so
 * print only entries that meet none. */
static void entries_compare(const char *path, const struct hx_table *table, const struct hx_table *other, int second, struct tally *tally)
{
    char text[256], range[64];

    for (const struct hx_table_entry *a = table->entries; a < table->entries + table->n; a++) {
        int met = 0;
        for (const struct hx_table_entry *b = other->entries; b < other->entries + other->n; b++) {
            if (!meet(a, b))
                continue;
            met = 1;
            if (!second)
                entry_compare(a, b, tally);
        }
        if (!met)
            printf("only in %s: %s, %s: %s\n", path, key_text(a, text), range_text(a->from_bytes, a->to_bytes, range), a->plan);
        tally->only += !met;
    }
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
    int status = 2;

    if (a && b) {
        entries_compare(o->files[0], a, b, 0, &tally);
        models_compare(a, b);
        entries_compare(o->files[1], b, a, 1, &tally);
        printf("# %d the same, %d others (%d of them within 5 %% of each other, relative to the default), %d in one table only\n", tally.same,
               tally.other, tally.within, tally.only);
        status = tally.other || tally.only;
    }
    hx_table_free(a);
    hx_table_free(b);
    return status;
}

int tune_files(const struct tune_options *o)
{
    static int (*const commands[])(const struct tune_options *) = {
        [TUNE_CHECK] = check, [TUNE_MERGE] = merge, [TUNE_DIFF] = diff, [TUNE_JUDGE] = tune_judge, [TUNE_MODEL] = tune_model};
    int status = 0;

    if (o->bench.end != OPTION_GO_ON)
        return tune_options_answer(o);
    if (o->schema) {
        screen_leave();
        printf("%s", hx_table_schema);
    } else {
        status = commands[o->command](o);
    }
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_tune: standard output");
        return 1;
    }
    return status;
}
