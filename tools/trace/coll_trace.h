/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_trace: what the traces that HX_TRACE has made of the ranks of a job say together. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

struct trace_options {
    const char *command;
    const char *output; /* merge */
    char **inputs;
    int ninputs;
};

/* One rank's trace, as its file tells. */
struct trace_rank {
    int there, node;
    uint64_t dropped, error_ns;
};

/* The traces read so far. */
struct trace_set {
    struct json_object *head; /* otherData of the first */
    int ranks;                /* of the job */
    struct trace_rank *of;    /* [ranks] */
};

/* A command line that is wrong ends the program. */
void trace_options_parse(struct trace_options *o, int argc, char **argv);

/* Print and end the program. */
_Noreturn void trace_refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *trace_memory(void *pointer);

/* Read a file into the set. The caller puts *root; *events is part of it. An empty file, which a rank leaves that was killed, is told and
 * left out: -1. What is no trace, or of another job than those before, or of a rank that was read already, ends the program. */
int trace_read(struct trace_set *set, const char *file, struct json_object **root, struct json_object **events);
/* Say which ranks are missing; all of them ends the program. */
void trace_missing_tell(const struct trace_set *set);
void trace_set_close(struct trace_set *set);

int trace_merge(const struct trace_options *o);
int trace_summary(const struct trace_options *o);
