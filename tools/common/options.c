/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and names on command lines: see options.h. */
#include "tools/common/options.h"
#include "runtime/base/name_distance.h"
#include "runtime/base/size.h"
#include "tools/common/whole_file.h"
#include <argp.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 62 };
#define BYTES_FROM ((uint64_t)1 << 30) /* an option that allows this much is a number of bytes: other counts need no suffix */

int option_choose(const char *what, const char *text, const char *const *names, char error[OPTION_TEXT_BYTES])
{
    int nearest = 0, best = HX_NAME_BYTES;

    for (int i = 0; names[i]; i++) {
        int d = hx_name_distance(text, strlen(text), names[i]);
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
static void spelling_settle(const char *text, char plain[HX_NAME_BYTES])
{
    int n = 0;

    for (; *text && n < HX_NAME_BYTES - 1; text++)
        if (*text != '-' && *text != '_')
            plain[n++] = (char)tolower((unsigned char)*text);
    plain[n] = '\0';
    if (!strcmp(plain, "broadcast"))
        strcpy(plain, "bcast");
}

static int option_collective(const char *text, const char *const *names, char error[OPTION_TEXT_BYTES])
{
    char wanted[HX_NAME_BYTES], plain[HX_NAME_BYTES];

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
    char least[HX_SIZE_BYTES], most[HX_SIZE_BYTES];
    if (high >= BYTES_FROM)
        snprintf(error, OPTION_TEXT_BYTES, "--%s=%s: expected a number of bytes from %s to %s, such as 8, 64K or 64KiB, 1M, 1G "
                 "(powers of 1024)", option, text, hx_size_format(low, least), hx_size_format(high, most));
    else
        snprintf(error, OPTION_TEXT_BYTES, "--%s=%s: expected a whole number from %llu to %llu", option, text,
                 (unsigned long long)low, (unsigned long long)high);
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

/* Report a word that getopt refuses: an unknown option, one without its value, or one with a value that it does not take. */
static void refused_tell(const struct argp_option *table, const struct option *longs, const char *word, char error[OPTION_TEXT_BYTES])
{
    const char *names[ROWS_MAX + 1] = {NULL};
    char name[HX_NAME_BYTES];
    int known = -1;

    word += strspn(word, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; longs[i].name; i++) {
        names[i] = longs[i].name;
        known = known < 0 && longs[i].val == optopt ? i : known;
    }
    if (known < 0 && (known = option_choose("option", name, names, error)) < 0)
        return;
    const struct argp_option *of = &table[known] - ((table[known].flags & OPTION_ALIAS) != 0);
    snprintf(error, OPTION_TEXT_BYTES, "option --%s %s%s: %s", names[known], of->arg ? "needs a value, " : "takes no value",
             of->arg ? of->arg : "", of->doc);
}

/* getopt's view of argp's table: words in their order, and a missing value is ':'. */
static void longs_make(const struct argp_option *table, struct option longs[ROWS_MAX + 1], char letters[2 * ROWS_MAX + 3])
{
    const struct argp_option *of = table;
    int i = 0;

    letters += sprintf(letters, "-:");
    for (; table[i].name; i++) {
        of = table[i].flags & OPTION_ALIAS ? of : &table[i];
        longs[i] = (struct option){table[i].name, of->arg ? required_argument : no_argument, NULL, of->key};
        if (table[i].key && table[i].key < KEY_FIRST)
            letters += sprintf(letters, of->arg ? "%c:" : "%c", of->key);
    }
    longs[i] = (struct option){0};
}

enum option_end option_parse(const struct option_tool *tool, int argc, char **argv, void *options, uint64_t *used,
                             char error[OPTION_TEXT_BYTES])
{
    struct argp_option table[ROWS_MAX + 1];
    struct option longs[ROWS_MAX + 1];
    char letters[2 * ROWS_MAX + 3];
    uint64_t none;
    int key, at = 1, took, row;

    table_make(tool, table);
    longs_make(table, longs, letters);
    used = used ? used : &none;
    *used = 0;
    error[0] = '\0';
    opterr = optind = 0;
    for (; (key = getopt_long(argc, argv, letters, longs, NULL)) != -1; at = optind) {
        if (key == '?' || key == ':') {
            refused_tell(table, longs, argv[at], error);
            return OPTION_WRONG;
        }
        if (key == 'h' || key == 'V')
            return key == 'h' ? OPTION_HELP : OPTION_VERSION;
        if (key == 1) {
            if ((took = tool->word(options, argv + optind - 1, error)) < 0)
                return OPTION_WRONG;
            optind += took - 1;
            continue;
        }
        for (row = 0; longs[row].val != key; row++)
            ;
        const struct option_row *same = &tool->rows[row + 1];
        if (same->name && same->kind == OPTION_SAME && optarg && !strcmp(optarg, same->name + 1) && optind < argc)
            optarg = argv[optind++]; /* -np 4: letter and rest are the longer name, as mpirun has it */
        *used |= (uint64_t)1 << row;
        if (value_take(&tool->rows[row], options, optarg, error) < 0)
            return OPTION_WRONG;
    }
    for (at = optind; at < argc; at += took) /* behind -- */
        if ((took = tool->word(options, argv + at, error)) < 0)
            return OPTION_WRONG;
    return OPTION_GO_ON;
}

int option_is_given(const struct option_tool *tool, uint64_t used, const char *name)
{
    for (int i = 0; tool->rows[i].name; i++)
        if (used >> i & 1 && !strcmp(tool->rows[i].name, name))
            return 1;
    return 0;
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
    const struct argp argp = {.options = table, .args_doc = tool->words, .doc = tool->about};

    setvbuf(stdout, text, _IOFBF, sizeof(text)); /* in one piece: argp does not keep the errno of a part that cannot be written */
    table_make(tool, table);
    if (end == OPTION_HELP)
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, (char *)(uintptr_t)name);
    else
        printf("%s %s\n", name, version);
    return standard_output_check(name) ? 1 : 0;
}
