/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and names on command lines: see options.h. */
#include "tools/common/options.h"
#include "runtime/base/size.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* Edit distance of two names; NAME_BYTES when one is too long. */
static int distance(const char *a, const char *b)
{
    int row[NAME_BYTES], m = (int)strlen(b);

    if (m >= NAME_BYTES || strlen(a) >= NAME_BYTES)
        return NAME_BYTES;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

int option_choose(const char *what, const char *text, const char *const *names, char error[OPTION_TEXT_BYTES])
{
    int nearest = 0, best = NAME_BYTES;

    for (int i = 0; names[i]; i++) {
        int d = distance(text, names[i]);
        if (!strcmp(text, names[i]))
            return i;
        if (d < best) {
            best = d;
            nearest = i;
        }
    }
    int n = snprintf(error, OPTION_TEXT_BYTES, "unknown %s \"%.200s\"", what, text);
    if (2 * best <= (int)strlen(text))
        n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, " (did you mean %s?)", names[nearest]);
    n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, "; choices:");
    for (int i = 0; names[i] && n < OPTION_TEXT_BYTES; i++)
        n += snprintf(error + n, OPTION_TEXT_BYTES - (size_t)n, " %s", names[i]);
    return -1;
}

/* "All-Reduce" as "allreduce". */
static void spelling_settle(const char *text, char plain[NAME_BYTES])
{
    int n = 0;

    for (; *text && n < NAME_BYTES - 1; text++)
        if (*text != '-' && *text != '_')
            plain[n++] = (char)tolower((unsigned char)*text);
    plain[n] = '\0';
    if (!strcmp(plain, "broadcast"))
        strcpy(plain, "bcast");
}

int option_collective(const char *text, const char *const *names, char error[OPTION_TEXT_BYTES])
{
    char wanted[NAME_BYTES], plain[NAME_BYTES];

    spelling_settle(text, wanted);
    for (int i = 0; names[i]; i++) {
        spelling_settle(names[i], plain);
        if (!strcmp(wanted, plain))
            return i;
    }
    return option_choose("collective", text, names, error);
}

int option_number(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  char error[OPTION_TEXT_BYTES])
{
    const char *end;
    int64_t number;

    if (hx_size_parse(text, &end, &number) == 0 && !*end && number >= 0 && (uint64_t)number >= low && (uint64_t)number <= high) {
        *value = (uint64_t)number;
        return 0;
    }
    snprintf(error, OPTION_TEXT_BYTES,
             "--%s=%s: expected a whole number from %llu to %llu, with an optional suffix K, M or G (powers of 1024)",
             option, text, (unsigned long long)low, (unsigned long long)high);
    return -1;
}

int option_real(const char *option, const char *text, int zero, double high, double *value,
                char error[OPTION_TEXT_BYTES])
{
    char *end;

    *value = strtod(text, &end);
    if (end != text && *end == 0 && (*value > 0 || (zero && *value == 0)) && *value <= high)
        return 0;
    snprintf(error, OPTION_TEXT_BYTES, "--%s=%s: expected a number %s 0 and up to %g", option, text,
             zero ? "from" : "above", high);
    return -1;
}

/* Of several letters behind one dash getopt is still there when it refuses one that is not the last. */
static const char *refused_find(const struct argp_option *table, const struct argp_state *state)
{
    const char *last = state->argv[state->next - 1], *next = state->next < state->argc ? state->argv[state->next] : "";

    if (next[0] != '-' || next[1] == '-' || strlen(next) < 3 || strchr(last, '='))
        return last;
    for (int i = 0; table[i].name; i++)
        if (last[0] == '-' && (last[1] == table[i].key || (last[1] == '-' && !strcmp(last + 2, table[i].name)))) /* it is good */
            return next;
    return last[0] != '-' ? next : last;
}

void option_refused(const struct argp_option *table, const struct argp_state *state, char error[OPTION_TEXT_BYTES])
{
    const char *given = refused_find(table, state);
    const char *names[64];
    char name[NAME_BYTES] = "", text[OPTION_TEXT_BYTES];
    int n = 0;

    for (; table[n].name && n < 63; n++)
        names[n] = table[n].name;
    names[n] = NULL;
    given += strspn(given, "-");
    strncat(name, given, strcspn(given, "=") < NAME_BYTES - 1 ? strcspn(given, "=") : NAME_BYTES - 1);
    for (int i = 0; i < n && name[1] == 0; i++) /* by its letter */
        if (table[i].key == name[0])
            strcpy(name, names[i]);
    if (option_choose("option", name, names, text) < 0)
        memcpy(error, text, OPTION_TEXT_BYTES);
    else
        snprintf(error, OPTION_TEXT_BYTES, "option --%s: a value is missing, or not expected", name);
}

void option_command_line(int argc, char *const *argv, char text[OPTION_TEXT_BYTES])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < argc && n < OPTION_TEXT_BYTES; i++) {
        const char *quote = argv[i][0] && !argv[i][strspn(argv[i], plain)] ? "" : "'";
        n += (size_t)snprintf(text + n, OPTION_TEXT_BYTES - n, "%s%s", i ? " " : "", quote);
        for (const char *c = argv[i]; *c && n < OPTION_TEXT_BYTES; c++)
            n += (size_t)snprintf(text + n, OPTION_TEXT_BYTES - n, *c == '\'' ? "'\\''" : "%c", *c);
        n += n < OPTION_TEXT_BYTES ? (size_t)snprintf(text + n, OPTION_TEXT_BYTES - n, "%s", quote) : 0;
    }
}
