/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_trace merge: one file after the other, since ranks have tracks and message ids that no other has. What OUT will
 * hold is kept as text until every file is read: what is refused leaves OUT as it was. */
#include "tools/trace/coll_trace.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void traces_write(FILE *out, const struct trace_set *set, struct json_object *traces)
{
    struct json_object *head = NULL;

    if (json_object_deep_copy(set->head, &head, NULL) != 0)
        trace_refuse(1, "no memory");
    json_object_object_add(head, "traces", json_object_get(traces));
    fprintf(out, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":%s}\n",
            json_object_to_json_string_ext(head, JSON_C_TO_STRING_PLAIN));
    json_object_put(head);
}

/* What of it no file before has said: two ranks of a node both name the node. */
static int is_news(struct json_object *event, unsigned char *named, int nodes)
{
    struct json_object *name, *pid;
    int64_t node;

    if (!json_object_object_get_ex(event, "name", &name) || strcmp(json_object_get_string(name), "process_name") ||
        !json_object_object_get_ex(event, "pid", &pid))
        return 1;
    node = json_object_get_int64(pid) - 1;
    return node < 0 || node >= nodes || !named[node]++;
}

/* Is it what one rank of several has told? Then OUT was forgotten, and a trace would be lost. */
static int is_of_one_rank(const char *file)
{
    struct json_object *root = whole_file_is_regular(file) ? json_object_from_file(file) : NULL, *head, *traces, *ranks;
    int one = json_object_object_get_ex(root, "otherData", &head) &&
        json_object_object_get_ex(head, "traces", &traces) && json_object_object_get_ex(head, "ranks", &ranks) &&
        json_object_is_type(traces, json_type_array) && json_object_array_length(traces) == 1 &&
        json_object_get_int64(ranks) > 1;

    json_object_put(root);
    return one;
}

static void traces_copy(FILE *out, const struct trace_options *o, struct trace_set *set)
{
    struct json_object *root, *events, *all = json_object_new_array();
    unsigned char *named = NULL;
    const char *separator = "";

    fputs("{\"traceEvents\":[\n", out);
    for (int i = 0; i < o->ninputs; i++) {
        struct json_object *head, *traces;
        if (trace_read(set, o->inputs[i], &root, &events))
            continue;
        named = named ? named : trace_memory(calloc((size_t)set->ranks, 1));
        json_object_object_get_ex(root, "otherData", &head);
        json_object_object_get_ex(head, "traces", &traces);
        for (size_t t = 0; t < json_object_array_length(traces); t++)
            json_object_array_add(all, json_object_get(json_object_array_get_idx(traces, t)));
        for (size_t e = 0; e < json_object_array_length(events); e++) {
            struct json_object *event = json_object_array_get_idx(events, e);
            if (!is_news(event, named, set->ranks))
                continue;
            fprintf(out, "%s%s", separator, json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN));
            separator = ",\n";
        }
        json_object_put(root);
    }
    trace_missing_tell(set);
    traces_write(out, set, all);
    json_object_put(all);
    free(named);
}

int trace_merge(const struct trace_options *o)
{
    struct trace_set set = {0};
    struct whole_file file;
    char *text = NULL;
    size_t bytes = 0;
    FILE *kept;

    if (is_of_one_rank(o->output))
        trace_refuse(2, "merge: %s is a trace; name the file to write first: coll_trace merge OUT IN...", o->output);
    kept = trace_memory(open_memstream(&text, &bytes));
    traces_copy(kept, o, &set);
    if (ferror(kept) | fclose(kept))
        trace_refuse(1, "no memory");
    if (whole_file_open(&file, o->output))
        whole_file_write(&file, text, bytes);
    if (whole_file_close(&file) != 0)
        trace_refuse(1, "cannot write %s: %s", o->output, strerror(errno));
    trace_set_close(&set);
    free(text);
    return 0;
}
