/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in a JSON text: see json_place.h. Strings are the only thing to be careful with; what is between them is
 * counted. */
#include "hier/table/json_place.h"
#include <string.h>

static size_t space_skip(const char *text, size_t at)
{
    return at + strspn(text + at, " \t\r\n");
}

/* From the opening quote to behind the closing one. */
static size_t string_skip(const char *text, size_t at)
{
    for (at++; text[at] && text[at] != '"'; at++)
        at += text[at] == '\\' && text[at + 1];
    return at + (text[at] == '"');
}

static size_t value_skip(const char *text, size_t at)
{
    int depth = 0;

    do {
        if (text[at] == '"') {
            at = string_skip(text, at);
        } else if (strchr("[{", text[at]) && text[at]) {
            depth++;
            at++;
        } else if (strchr("]}", text[at]) && text[at]) {
            depth--;
            at++;
        } else if (depth > 0) {
            at += strcspn(text + at, "\"[]{}");
        } else {
            at += strcspn(text + at, ",]} \t\r\n");
        }
    } while (depth > 0 && text[at]);
    return at;
}

size_t hx_place_member(const char *text, size_t at, const char *name)
{
    size_t object = space_skip(text, at), length = strlen(name);

    if (text[object] != '{')
        return object;
    for (at = space_skip(text, object + 1); text[at] == '"'; at = space_skip(text, at)) {
        size_t end = string_skip(text, at), value = space_skip(text, space_skip(text, end) + 1);
        if (end - at == length + 2 && !memcmp(text + at + 1, name, length))
            return value;
        at = space_skip(text, value_skip(text, value));
        at += text[at] == ',';
    }
    return object;
}

size_t hx_place_first(const char *text, size_t at)
{
    return space_skip(text, space_skip(text, at) + 1);
}

size_t hx_place_next(const char *text, size_t at)
{
    at = space_skip(text, value_skip(text, at));
    return space_skip(text, at + (text[at] == ','));
}

struct name {
    const char *text;
    size_t length;
};

struct level { /* an object or array that is open */
    int is_object, name_is_due;
    int n; /* names so far */
    struct name name[HX_PLACE_MEMBERS];
};

static const char *name_fault(struct level *level, const char *text, size_t length)
{
    if (text[-1] != '"')
        return "the name of this member has no quotation marks";
    if (memchr(text, '\\', length))
        return "the name of this member has an escape";
    for (int i = 0; i < level->n; i++)
        if (level->name[i].length == length && !memcmp(level->name[i].text, text, length))
            return "this object has this member twice";
    if (level->n == HX_PLACE_MEMBERS)
        return "this object has too many members";
    level->name[level->n++] = (struct name){text, length};
    return NULL;
}

const char *hx_place_fault(const char *text, size_t *at)
{
    struct level levels[HX_PLACE_DEPTH + 1] = {{.n = 0}}, *level = levels, *last = levels + HX_PLACE_DEPTH;

    for (size_t i = space_skip(text, 0), end; text[i]; i = space_skip(text, end)) {
        const char *fault = NULL;

        *at = i;
        end = text[i] == '"' ? string_skip(text, i) : i + 1;
        if (text[i] == '{' || text[i] == '[') {
            if (level == last)
                return "too deep";
            level++;
            level->n = 0;
            level->is_object = level->name_is_due = text[i] == '{';
        } else if (text[i] == '}' || text[i] == ']') {
            if (level == levels)
                return "it closes what is not open";
            level--;
        } else if (level->name_is_due) {
            fault = name_fault(level, text + i + 1, end - i - 2);
            level->name_is_due = 0;
        } else if (text[i] == ',') {
            level->name_is_due = level->is_object;
        }
        if (fault)
            return fault;
    }
    return NULL;
}

void hx_place_line(const char *text, size_t from, size_t at, int *line, int *column)
{
    for (; from < at && text[from]; from++) {
        *line += text[from] == '\n';
        *column = text[from] == '\n' ? 1 : *column + 1;
    }
}
