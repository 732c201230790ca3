/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and names on command lines: see options.h. */
#include "tools/common/options.h"
#include "runtime/base/size.h"
#include "tools/common/whole_file.h"
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, ROWS_MAX = 62 };

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

int option_collective_add(const char *text, const char *const *names, int *list, int *n, char error[OPTION_TEXT_BYTES])
{
    const int chosen = option_collective(text, names, error);

    for (int i = 0; i < *n; i++)
        if (list[i] == chosen)
            return 0;
    if (chosen >= 0)
        list[(*n)++] = chosen;
    return chosen < 0 ? -1 : 0;
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

/* ---- a whole command line ---- */

/* argp's table of a tool. A row's key is its letter, or its number behind all letters. */
enum { KEY_FIRST = 0x100 };

static void table_make(const struct option_tool *tool, struct argp_option table[ROWS_MAX + 1])
{
    int n = 0;

    for (const struct option_row *row = tool->rows; row->name && n < ROWS_MAX - 2; row++, n++) {
        table[n] = (struct argp_option){row->name, row->letter ? row->letter : KEY_FIRST + n, row->value, 0, row->help, row->group};
        if (row->kind == OPTION_SAME)
            table[n] = (struct argp_option){.name = row->name, .flags = OPTION_ALIAS, .group = row->group};
    }
    const int last = n > 0 ? table[n - 1].group : 0;
    table[n++] = (struct argp_option){"help", 'h', NULL, 0, "show this text", last + 1};
    table[n++] = (struct argp_option){"version", 'V', NULL, 0, "show the version", last + 1};
    table[n] = (struct argp_option){0};
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

/* What is wrong with an argument that argp itself refuses: an unknown option, or one without its value. */
static void refused_tell(const struct argp_option *table, const struct argp_state *state, char error[OPTION_TEXT_BYTES])
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

struct parsing {
    const struct option_tool *tool;
    struct argp_option table[ROWS_MAX + 1];
    void *options;
    uint64_t used;
    enum option_end end;
    char *error;
};

static int value_take(const struct option_row *row, void *options, const char *text, char error[OPTION_TEXT_BYTES])
{
    void *field = (char *)options + row->field;
    int chosen;

    switch (row->kind) {
    case OPTION_FLAG: *(int *)field = 1; return 0;
    case OPTION_COUNT: return option_number(row->name, text, row->low, row->high, field, error);
    case OPTION_REAL:
    case OPTION_POSITIVE: return option_real(row->name, text, row->kind == OPTION_REAL, (double)row->high, field, error);
    case OPTION_CHOICE:
        if ((chosen = option_choose(row->name, text, row->choices, error)) >= 0)
            *(int *)field = chosen;
        return chosen < 0 ? -1 : 0;
    case OPTION_TEXT: *(const char **)field = text; return 0;
    default: return row->take(options, text, error);
    }
}

static int option_take(struct parsing *p, int idx, char *text, struct argp_state *state)
{
    const struct option_row *row = &p->tool->rows[idx];

    /* -np 4: letter and rest are a longer name, as mpirun has it */
    if (row[1].name && row[1].kind == OPTION_SAME && text && !strcmp(text, row[1].name + 1) && state->next < state->argc)
        text = state->argv[state->next++];
    p->used |= (uint64_t)1 << idx;
    return value_take(row, p->options, text, p->error);
}

static error_t key_take(int key, char *text, struct argp_state *state)
{
    struct parsing *p = state->input;
    int took = 0;

    if (key == ARGP_KEY_ERROR) {
        if (p->end == OPTION_GO_ON && !p->error[0])
            refused_tell(p->table, state, p->error);
        p->end = p->end == OPTION_GO_ON ? OPTION_WRONG : p->end;
        return 0;
    }
    if (key == 'h' || key == 'V') {
        p->end = key == 'h' ? OPTION_HELP : OPTION_VERSION;
        return ECANCELED;
    }
    if (key == ARGP_KEY_ARG && p->tool->word) {
        took = p->tool->word(p->options, state->argv + state->next - 1, state->argc - state->next + 1, p->error);
        state->next += took > 0 ? took - 1 : 0;
        return took < 0 ? EINVAL : 0;
    }
    for (int i = 0; p->table[i].name && key > 0; i++)
        if (p->table[i].key == key && !(p->table[i].flags & OPTION_ALIAS))
            return option_take(p, i, text, state) < 0 ? EINVAL : 0;
    return ARGP_ERR_UNKNOWN;
}

enum option_end option_parse(const struct option_tool *tool, int argc, char **argv, void *options, uint64_t *used,
                             char error[OPTION_TEXT_BYTES])
{
    struct parsing p = {.tool = tool, .options = options, .error = error};
    const struct argp argp = {p.table, key_take, tool->words, tool->about, NULL, NULL, NULL};

    error[0] = '\0';
    table_make(tool, p.table);
    if (argp_parse(&argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, NULL, &p) != 0 && p.end == OPTION_GO_ON)
        p.end = OPTION_WRONG;
    if (used)
        *used = p.used;
    return p.end;
}

const char *option_foreign(const struct option_tool *tool, uint64_t used, unsigned commands)
{
    for (int i = 0; tool->rows[i].name; i++)
        if (used >> i & 1 && tool->rows[i].commands && !(tool->rows[i].commands & commands))
            return tool->rows[i].name;
    return NULL;
}

int option_answer(const struct option_tool *tool, enum option_end end, const char *name, const char *version)
{
    static char text[1 << 16];
    struct argp_option table[ROWS_MAX + 1];
    const struct argp argp = {table, key_take, tool->words, tool->about, NULL, NULL, NULL};

    setvbuf(stdout, text, _IOFBF, sizeof(text)); /* in one piece: argp does not keep the errno of a part that cannot be written */
    table_make(tool, table);
    if (end == OPTION_HELP)
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)(uintptr_t)name);
    else
        printf("%s %s\n", name, version);
    return standard_output_check(name) ? 1 : 0;
}
