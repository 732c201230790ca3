/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's report: rows of {check, grade, ranks, hosts, found, meaning, remedy}; findings that are alike share a
 * row. */
#include "tools/info/doctor.h"
#include <stdlib.h>
#include <string.h>

const char *const doctor_grades[] = {"ok", "warn", "fail"};

const char *doctor_member(struct json_object *object, const char *key)
{
    struct json_object *member;
    const char *text = json_object_object_get_ex(object, key, &member) ? json_object_get_string(member) : NULL;

    return text ? text : "";
}

int64_t doctor_number(struct json_object *object, const char *key)
{
    struct json_object *member;

    return json_object_object_get_ex(object, key, &member) ? json_object_get_int64(member) : 0;
}

/* "0-3,5" */
static void ranks_format(const int *ranks, int n, char *text, size_t capacity)
{
    size_t used = 0;

    text[0] = 0;
    for (int i = 0; i < n && used + 32 < capacity; i++) {
        int last = i;
        while (last + 1 < n && ranks[last + 1] == ranks[last] + 1)
            last++;
        used += (size_t)snprintf(text + used, capacity - used, "%s%d", i ? "," : "", ranks[i]);
        if (last > i)
            used += (size_t)snprintf(text + used, capacity - used, "-%d", ranks[last]);
        i = last;
    }
}

void doctor_tell(const struct doctor_job *job, const char *name, enum doctor_grade grade, const int *ranks, int n,
                 const char *text, const char *meaning, const char *remedy)
{
    struct json_object *row = json_object_new_object(), *hosts = json_object_new_array();
    char *list = malloc((size_t)n * 12 + 64), *seen = calloc((size_t)job->hosts + 1, 1);

    json_add_text(row, "check", name);
    json_add_text(row, "grade", doctor_grades[grade]);
    if (list && ranks)
        ranks_format(ranks, n, list, (size_t)n * 12 + 64);
    json_add_text(row, "ranks", list && ranks ? list : "all");
    for (int i = 0; ranks && seen && i < n; i++) {
        const struct doctor_rank *rank = &job->ranks[ranks[i]];
        if (!seen[rank->host_idx])
            json_object_array_add(hosts, json_object_new_string(rank->host));
        seen[rank->host_idx] = 1;
    }
    json_object_object_add(row, "hosts", hosts);
    json_add_text(row, "found", text);
    json_add_text(row, "meaning", meaning);
    json_add_text(row, "remedy", grade == DOCTOR_OK ? NULL : remedy);
    json_object_array_add(job->report, row);
    free(list);
    free(seen);
}

static struct json_object *finding_of(const struct doctor_job *job, int rank, int check)
{
    struct json_object *list;

    if (!job->ranks[rank].told || !json_object_object_get_ex(job->ranks[rank].told, "findings", &list))
        return NULL;
    return json_object_array_get_idx(list, (size_t)check);
}

static int is_alike(struct json_object *a, struct json_object *b)
{
    return doctor_number(a, "grade") == doctor_number(b, "grade") &&
        !strcmp(doctor_member(a, "text"), doctor_member(b, "text"));
}

static void check_merge(const struct doctor_job *job, int c, int *group)
{
    const struct doctor_check *check = &doctor_checks_here[c];

    for (int first = 0; first < job->size; first++) {
        struct json_object *finding = finding_of(job, first, c), *earlier;
        int n = 0, told = 0;
        for (int rank = 0; finding && rank < first && !told; rank++)
            told = (earlier = finding_of(job, rank, c)) && is_alike(finding, earlier);
        if (!finding || told)
            continue;
        for (int rank = first; rank < job->size; rank++)
            if ((earlier = finding_of(job, rank, c)) && is_alike(finding, earlier))
                group[n++] = rank;
        const char *remedy = doctor_member(finding, "remedy");
        doctor_tell(job, check->name, (enum doctor_grade)doctor_number(finding, "grade"), n < job->size ? group : NULL,
                    n, doctor_member(finding, "text"), check->meaning, *remedy ? remedy : check->remedy);
    }
}

void doctor_merge(const struct doctor_job *job)
{
    int *group = malloc((size_t)job->size * sizeof(*group));

    for (int c = 0; group && doctor_checks_here[c].name; c++)
        check_merge(job, c, group);
    free(group);
}

/* ---- printing ---- */

static void row_print(struct json_object *row, int width)
{
    const char *grade = doctor_member(row, "grade"), *ranks = doctor_member(row, "ranks");
    struct json_object *hosts;

    printf("%-4s  %-*s  %s", grade, width, doctor_member(row, "check"), doctor_member(row, "found"));
    if (strcmp(ranks, "all") && json_object_object_get_ex(row, "hosts", &hosts)) {
        size_t n = json_object_array_length(hosts);
        printf(" (rank%s %s on ", strpbrk(ranks, "-,") ? "s" : "", ranks);
        if (n <= 4)
            for (size_t i = 0; i < n; i++)
                printf("%s%s", i ? "," : "", json_object_get_string(json_object_array_get_idx(hosts, i)));
        else
            printf("%zu hosts", n);
        printf(")");
    }
    printf("\n");
    if (strcmp(grade, doctor_grades[DOCTOR_OK]))
        printf("      %-*s    means: %s\n      %-*s    mend:  %s\n", width, "", doctor_member(row, "meaning"), width,
               "", doctor_member(row, "remedy"));
}

int doctor_print(const struct doctor_job *job, int json)
{
    int count[3] = {0}, width = 0;
    size_t n = json_object_array_length(job->report);

    for (size_t i = 0; i < n; i++) {
        struct json_object *row = json_object_array_get_idx(job->report, i);
        for (int grade = 0; grade < 3; grade++)
            count[grade] += !strcmp(doctor_member(row, "grade"), doctor_grades[grade]);
        width = (int)strlen(doctor_member(row, "check")) > width ? (int)strlen(doctor_member(row, "check")) : width;
    }
    if (json) {
        struct json_object *all = json_object_new_object();
        json_add_int(all, "ranks", job->size);
        json_add_int(all, "hosts", job->hosts);
        for (int grade = 0; grade < 3; grade++)
            json_add_int(all, doctor_grades[grade], count[grade]);
        json_object_object_add(all, "checks", json_object_get(job->report));
        json_print(stdout, all);
        json_object_put(all);
    } else {
        for (size_t i = 0; i < n; i++)
            row_print(json_object_array_get_idx(job->report, i), width);
        printf("%d ok, %d warn, %d fail; %d rank%s on %d host%s\n", count[0], count[1], count[2], job->size,
               job->size > 1 ? "s" : "", job->hosts, job->hosts > 1 ? "s" : "");
    }
    return count[DOCTOR_FAIL];
}
