/* SPDX-License-Identifier: BSD-3-Clause */
/* What coll_tune tells: how far it is, and what it has found. */
#include "tools/tune/coll_tune.h"
#include <string.h>
#include <unistd.h>

#define BAR 24

static int begun(const struct tune_point *points, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += points[i].known || points[i].measured;
    return count;
}

void tune_progress(const struct tune_point *points, int n, int at, double elapsed_s, double budget_s)
{
    int done = begun(points, n), measured = 0;
    char bar[BAR + 1];

    if (!isatty(STDERR_FILENO))
        return;
    for (int i = 0; i < n; i++)
        measured += points[i].measured;
    double left_s = measured ? elapsed_s / measured * (n - done) : budget_s;
    left_s = left_s < budget_s - elapsed_s ? left_s : budget_s - elapsed_s;
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(done * BAR / n));
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K[%s] %d of %d  %d:%02d left  %s %llu bytes", bar, done, n, (int)left_s / 60, (int)left_s % 60,
            bench_collective_names[points[at].collective], (unsigned long long)points[at].bytes);
    fflush(stderr);
}

const char *tune_choice_text(const struct hx_table_entry *entry, char text[HX_CANDIDATE_NAME_BYTES + 32])
{
    snprintf(text, HX_CANDIDATE_NAME_BYTES + 32, entry->slice_bytes ? "%s slice %llu" : "%s", entry->plan,
             (unsigned long long)entry->slice_bytes);
    return text;
}

static double gain(const struct hx_table_entry *entry)
{
    return entry->us > 0 ? entry->default_us / entry->us : 1;
}

int tune_is_default(const struct hx_table_entry *entry)
{
    return !strcmp(entry->plan, entry->default_plan) && entry->slice_bytes == 0;
}

void tune_told(const struct tune_point *points, int n, int at)
{
    const struct hx_table_entry *entry = &points[at].entry;
    char chosen[HX_CANDIDATE_NAME_BYTES + 32];

    if (isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "coll_tune: %d of %d: %s %llu bytes: %s %.2f us", begun(points, n), n,
            bench_collective_names[points[at].collective], (unsigned long long)points[at].bytes, tune_choice_text(entry, chosen), entry->us);
    if (tune_is_default(entry))
        fprintf(stderr, ", the default\n");
    else
        fprintf(stderr, ", %.2f x as fast as the default %s\n", gain(entry), entry->default_plan);
}

void tune_taken_back(const struct tune_point *point, const char *chosen, double ratio)
{
    fprintf(stderr, "%scoll_tune: %s %llu bytes: %s took %.2f of the default's time here%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
            bench_collective_names[point->collective], (unsigned long long)point->bytes, chosen, ratio,
            ratio < 1 ? ", too little to be sure" : "");
}

static void row_print(FILE *out, const struct tune_point *point)
{
    const struct hx_table_entry *entry = &point->entry;
    char chosen[HX_CANDIDATE_NAME_BYTES + 32];

    fprintf(out, "%-20s %11llu  %-32s %10.2f  %-40s %10.2f %6.2f ", bench_collective_names[point->collective],
            (unsigned long long)point->bytes, entry->default_plan, entry->default_us, tune_choice_text(entry, chosen), entry->us, gain(entry));
    if (point->known)
        fprintf(out, "%6s %6s\n", "-", "-");
    else
        fprintf(out, "%6d %6d\n", point->raced, point->costly + point->behind + point->untried);
}

/* A row of each point that is known. */
static void rows_print(FILE *out, const struct tune_point *points, int n)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    fprintf(out, "%-20s %11s  %-32s %10s  %-40s %10s %6s %6s %6s\n", "collective", "bytes", "default plan", "us", "chosen plan", "us",
            "gain", "raced", "pruned");
    for (int i = 0; i < n; i++)
        if (points[i].known || points[i].measured)
            row_print(out, &points[i]);
}

void tune_summary(const struct tune_options *o, const struct tune_point *points, int n)
{
    const char *page = o->bench.report.html;
    FILE *out = page && !strcmp(page, "-") ? stderr : stdout; /* nothing else may come before the page */
    int measured = 0, known = 0, changed = 0, costly = 0, behind = 0, untried = 0;

    rows_print(out, points, n);
    for (int i = 0; i < n; i++) {
        if (!points[i].known && !points[i].measured)
            continue;
        measured += points[i].measured;
        known += points[i].known;
        changed += !tune_is_default(&points[i].entry);
        costly += points[i].costly;
        behind += points[i].behind;
        untried += points[i].untried;
    }
    fprintf(out, "# %d points measured, %d from the table; another plan than the default's at %d\n", measured, known, changed);
    fprintf(out, "# pruned: %d predicted to take more than %.0f times the best one's time, %d behind the first %d in the qualifying\n", costly,
            TUNE_COSTLY, behind, TUNE_WAYS);
    if (untried)
        fprintf(out, "# time was too short to try %d more\n", untried);
    fprintf(out, "# gain: times as fast as the default; dtype %s, op %s%s\n", bench_dtype_names[o->bench.dtype], bench_op_names[o->bench.op],
            o->bench.alloc ? ", memory of hx_alloc" : "");
}

void tune_confirm_summary(const char *output, const struct tune_point *points, int n, int stopped)
{
    int raced = 0, kept = 0;

    rows_print(stdout, points, n);
    for (int i = 0; i < n; i++) {
        raced += points[i].measured;
        kept += points[i].measured && !tune_is_default(&points[i].entry);
    }
    printf("# %s: %d choices other than the default's raced it; %d stay, %d went back to the default\n", output, raced, kept, raced - kept);
    if (raced < n)
        fprintf(stderr, "coll_tune: %s: %d more stay, undecided\n", stopped ? "stopped" : "time was too short", n - raced);
}
