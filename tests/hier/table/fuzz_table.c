/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a tuning table: refused, or read, and then written, read again, looked up and taken by a job with the same outcome.
 * libFuzzer calls it (tests/hier/table/fuzz_table.sh), and test_table_corpus.c with what was found.
 */
#include "tests/hier/table/fuzz_table.h"
#include "hier/planner.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64 /* entries that are looked up */

#define MUST(what)                                          \
    do {                                                    \
        if (!(what)) {                                      \
            fprintf(stderr, "fuzz_table: not so: " #what "\n"); \
            abort();                                        \
        }                                                   \
    } while (0)

static char *printed(const struct hx_table *table, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);

    MUST(out);
    hx_table_print(out, table);
    MUST(fclose(out) == 0);
    return text;
}

/* Written and read again it is the same, to the letter. */
static void comes_back(const struct hx_table *table, const char *text, size_t bytes)
{
    struct hx_table *again;
    size_t again_bytes;
    char *again_text;

    MUST(hx_table_parse("again", text, bytes, &again) == HX_SUCCESS);
    MUST(again->n == table->n);
    again_text = printed(again, &again_bytes);
    MUST(bytes == again_bytes && !memcmp(text, again_text, bytes));
    free(again_text);
    hx_table_free(again);
}

/* Entries that are added one by one, whatever their order, are found as in the file. */
static void is_found(const struct hx_table *table)
{
    struct hx_table *backward = hx_table_new();
    int n = table->n < MOST ? table->n : MOST;

    MUST(backward);
    for (int i = n - 1; i >= 0; i--)
        MUST(hx_table_add(backward, &table->entries[i]) == HX_SUCCESS);
    for (int i = 0; i < n; i++) {
        const struct hx_table_entry *e = &table->entries[i], *found;
        MUST(hx_table_find(table->entries, table->n, e, e->from_bytes) == e);
        MUST(hx_table_find(table->entries, table->n, e, e->to_bytes) == e);
        found = hx_table_find(backward->entries, backward->n, e, e->from_bytes);
        MUST(found && !strcmp(found->plan, e->plan) && found->slice_bytes == e->slice_bytes);
    }
    hx_table_free(backward);
}

/* As a job does, from a file. */
static void is_taken(const char *text, size_t bytes, int n)
{
    int fd = memfd_create("table", MFD_CLOEXEC);
    char path[64];
    struct hx_env env = {.table = path};
    void *tuning;
    size_t taken;

    MUST(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    MUST(hx_tuning_read(&env, "net", &tuning, &taken) == HX_SUCCESS);
    MUST(taken <= sizeof(struct hx_tuning) + (size_t)n * sizeof(struct hx_table_entry));
    free(tuning);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *written, why[256];
    struct hx_table *table, *here = hx_table_new();
    size_t bytes;

    MUST(text && here);
    memcpy(text, data, size);
    text[size] = '\0';
    if (hx_table_parse("fuzz", text, size, &table) == HX_SUCCESS) {
        hx_table_foreign(table, why);
        table->machine = here->machine;
        written = printed(table, &bytes);
        comes_back(table, written, bytes);
        is_found(table);
        is_taken(written, bytes, table->n);
        free(written);
        hx_table_free(table);
    }
    hx_table_free(here);
    free(text);
    return 0;
}
