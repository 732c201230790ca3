/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of settings: one parser and one printer for each type. Everything goes through text, so a default, an
 * environment variable, an override and a value sent by rank 0 are checked alike. HX_NODES is checked at start-up, when the number of ranks is known.
 */
#include "runtime/base/env_value.h"
#include "runtime/base/error.h"
#include "runtime/base/size.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hx_env_type_names[] = {"text", "integer", "bytes", "0 or 1", "choice", "nodes", "seconds"};

#define ROW(name, member, type, scope, dflt, low, high, choices, help) \
    [HX_ENV_IDX_##member] = {name, offsetof(struct hx_env, member), type, HX_SCOPE_##scope, dflt, low, high, choices, \
                             help},
#define HX_ENV_STRING(name, member, scope, dflt, help) ROW(name, member, HX_TYPE_STRING, scope, dflt, 0, 0, NULL, help)
#define HX_ENV_INT(name, member, scope, dflt, low, high, help) \
    ROW(name, member, HX_TYPE_INT, scope, dflt, low, high, NULL, help)
#define HX_ENV_SIZE(name, member, scope, dflt, low, high, help) \
    ROW(name, member, HX_TYPE_SIZE, scope, dflt, low, high, NULL, help)
#define HX_ENV_BOOL(name, member, scope, dflt, help) ROW(name, member, HX_TYPE_BOOL, scope, dflt, 0, 0, NULL, help)
#define HX_ENV_CHOICE(name, member, scope, dflt, choices, help) \
    ROW(name, member, HX_TYPE_CHOICE, scope, dflt, 0, 0, choices, help)
#define HX_ENV_NODES(name, member, scope, dflt, help) ROW(name, member, HX_TYPE_NODES, scope, dflt, 0, 0, NULL, help)
#define HX_ENV_SECONDS(name, member, scope, dflt, low, high, help) \
    ROW(name, member, HX_TYPE_SECONDS, scope, dflt, low, high, NULL, help)

const struct hx_env_row hx_env_rows[HX_ENV_COUNT] = {
#include "runtime/base/env.def"
};

/* ---- values to text */

static const char *seconds_format(double seconds, char text[HX_ENV_VALUE_BYTES])
{
    const int64_t micros = llround(seconds * 1e6);
    int end = snprintf(text, HX_ENV_VALUE_BYTES, "%" PRId64 ".%06" PRId64, micros / 1000000, micros % 1000000);

    while (text[end - 1] == '0')
        end--;
    text[text[end - 1] == '.' ? end - 1 : end] = '\0';
    return text;
}

static const char *choice_format(const char *choices, int idx, char text[HX_ENV_VALUE_BYTES])
{
    while (idx-- > 0 && strchr(choices, '|'))
        choices = strchr(choices, '|') + 1;
    snprintf(text, HX_ENV_VALUE_BYTES, "%.*s", (int)strcspn(choices, "|"), choices);
    return text;
}

const char *hx_env_value_format(const struct hx_env *env, const struct hx_env_row *row, char text[HX_ENV_VALUE_BYTES])
{
    const void *member = (const char *)env + row->offset;

    switch (row->type) {
    case HX_TYPE_STRING:
        return *(char *const *)member ? *(char *const *)member : "";
    case HX_TYPE_NODES:
        return *(char *const *)member ? *(char *const *)member : "0";
    case HX_TYPE_INT:
        snprintf(text, HX_ENV_VALUE_BYTES, "%" PRId64, *(const int64_t *)member);
        return text;
    case HX_TYPE_SIZE:
        return hx_size_format(*(const int64_t *)member, text);
    case HX_TYPE_BOOL:
        return *(const int *)member ? "1" : "0";
    case HX_TYPE_CHOICE:
        return choice_format(row->choices, *(const int *)member, text);
    case HX_TYPE_SECONDS:
        return seconds_format(*(const double *)member, text);
    }
    return "";
}

static int zero_is_apart(const struct hx_env_row *row)
{
    return row->low > 0 && strcmp(row->dflt, "0") == 0;
}

const char *hx_env_range_format(const struct hx_env_row *row, char text[HX_ENV_RANGE_BYTES])
{
    char low[HX_ENV_VALUE_BYTES], high[HX_ENV_VALUE_BYTES];
    size_t used = 0;

    switch (row->type) {
    case HX_TYPE_STRING:
        return "any text";
    case HX_TYPE_NODES:
        return "a number of nodes (at most the number of ranks), the ranks of each node (3,1,2 or 2x4), or also domains (2x4/2)";
    case HX_TYPE_BOOL:
        return "0, 1 (or no, yes, off, on, false, true)";
    case HX_TYPE_INT:
        snprintf(text, HX_ENV_RANGE_BYTES, "%.0f to %.0f", row->low, row->high);
        return text;
    case HX_TYPE_SIZE:
        snprintf(text, HX_ENV_RANGE_BYTES, "%s%s to %s", zero_is_apart(row) ? "0, or " : "",
                 hx_size_format((int64_t)row->low, low), hx_size_format((int64_t)row->high, high));
        return text;
    case HX_TYPE_SECONDS:
        snprintf(text, HX_ENV_RANGE_BYTES, "%s to %s", seconds_format(row->low, low), seconds_format(row->high, high));
        return text;
    case HX_TYPE_CHOICE:
        for (const char *c = row->choices; *c && used + 3 < HX_ENV_RANGE_BYTES; c++) {
            text[used++] = *c == '|' ? ',' : *c;
            if (*c == '|')
                text[used++] = ' ';
        }
        text[used] = '\0';
        return text;
    }
    return "";
}

/* ---- text to values; each returns 0, or -1 if the text is not such a value */

/* To the microsecond; further digits are dropped. */
static int seconds_parse(const char *text, double *seconds)
{
    int64_t whole, micros = 0, unit = 1000000;

    if (*text == '-' || hx_integer_parse(text, &text, &whole) < 0)
        return -1;
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++) {
            unit /= 10;
            micros += unit * (*text - '0');
        }
    *seconds = (double)whole + (double)micros / 1e6;
    return *text ? -1 : 0;
}

static int bool_parse(const char *text, int *value)
{
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};

    for (int i = 0; i < 8; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2;
            return 0;
        }
    return -1;
}

static int choice_parse(const char *choices, const char *text, int *value)
{
    for (*value = 0;; ++*value) {
        const size_t length = strcspn(choices, "|");
        if (strlen(text) == length && memcmp(text, choices, length) == 0)
            return 0;
        if (!choices[length])
            return -1;
        choices += length + 1;
    }
}

static hx_status_t string_set(char **member, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return hx_fail(HX_ERR_NOMEM, "no memory for a setting of %zu bytes", strlen(text));
    free(*member);
    *member = copy;
    return HX_SUCCESS;
}

hx_status_t hx_env_value_set(struct hx_env *env, const struct hx_env_row *row, const char *text,
                             enum hx_env_source source)
{
    static const char *const expected[] = {"", "an integer from ", "bytes: ", "", "one of ", "", "seconds from "}; /* by type */
    void *member = (char *)env + row->offset;
    const char *const given = text, *end = "";
    char range[HX_ENV_RANGE_BYTES];
    int64_t number = 0;
    double seconds = 0;
    int bad = 0, idx = 0;

    if (!text || !*text)
        text = row->dflt;
    switch (row->type) {
    case HX_TYPE_NODES:
    case HX_TYPE_STRING:
        if (string_set(member, row->type == HX_TYPE_NODES && strspn(text, "0") == strlen(text) ? NULL : text) != HX_SUCCESS)
            return HX_ERR_NOMEM;
        break;
    case HX_TYPE_INT:
    case HX_TYPE_SIZE:
        bad = (row->type == HX_TYPE_INT ? hx_integer_parse : hx_size_parse)(text, &end, &number) < 0 || *end;
        bad = bad || (double)number > row->high || ((double)number < row->low && !(number == 0 && zero_is_apart(row)));
        if (!bad)
            *(int64_t *)member = number;
        break;
    case HX_TYPE_SECONDS:
        bad = seconds_parse(text, &seconds) < 0 || !(seconds >= row->low && seconds <= row->high);
        if (!bad)
            *(double *)member = seconds;
        break;
    case HX_TYPE_BOOL:
    case HX_TYPE_CHOICE:
        bad = row->type == HX_TYPE_BOOL ? bool_parse(text, &idx) < 0 : choice_parse(row->choices, text, &idx) < 0;
        if (!bad)
            *(int *)member = idx;
        break;
    }
    if (bad)
        return hx_fail(HX_ERR_ENV, "%s=%s: expected %s%s", row->name, text, expected[row->type], hx_env_range_format(row, range));
    env->source[row - hx_env_rows] = given && *given ? source : HX_SOURCE_DEFAULT;
    return HX_SUCCESS;
}

