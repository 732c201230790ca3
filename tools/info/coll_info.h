/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info: what its files share. Each answer is made once, as JSON; the text for people is written from that. */
#pragma once

#include "runtime/api/comm.h"
#include "runtime/plan/plan.h"
#include "tools/common/json.h"

struct info_options {
    int colls[HX_COLL_COUNT]; /* enum hx_coll */
    int ncolls;
    uint64_t ranks;
    int algorithms, constants, doctor, table, json;
    enum option_end end;
    const char *files; /* of --table; NULL: as HX_TABLE has it */
    char error[OPTION_TEXT_BYTES]; /* "": none */
};

/* Parsing is silent: only rank 0 of a job prints, and that is known later. */
void info_options_parse(struct info_options *options, int argc, char **argv);
int info_options_answer(const struct info_options *options); /* --help, --version; the exit status */

/* Print the registered algorithms, each with what its plans do on so many ranks. As text, collective by collective as they are
 * ready: many ranks take a while. 0, or -1 after an error, which it has printed. */
int info_algorithms(const struct info_options *options);

/* The contents of the tuning tables FILE[:FILE]... NULL if one cannot be read; an error has been printed. */
struct json_object *info_table(const char *paths);
/* The cost model's parameters in this job, and where they come from. */
struct json_object *info_model(const struct hx_comm *comm);
/* Has the job plans from its tables where this setting, HX_<COLLECTIVE>, is not set? */
int info_table_has(const struct hx_comm *comm, const char *setting);

/* Versions, machine, network, settings, counters; and the job, where it has several ranks: then every rank must call it. */
struct json_object *info_all(struct hx_comm *world);

/* The constants of the node, and the parameters of the cost model for the node and the network. */
struct json_object *info_constants(const struct hx_comm *world);

/* Add members to an object, which it returns: "name=%d other=%s". %s is a text (NULL: null), %g a number, %d, %zu and %lu are whole
 * ones, and %p is a JSON value, which the object takes. */
struct json_object *info_add(struct json_object *object, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define info_new(...) info_add(json_object_new_object(), __VA_ARGS__)

/* A member of an object; "" or 0: there is none, or no object. */
static inline const char *info_text(struct json_object *object, const char *key)
{
    const char *text = json_object_get_string(json_object_object_get(object, key));

    return text ? text : "";
}

static inline double info_number(struct json_object *object, const char *key)
{
    return json_object_get_double(json_object_object_get(object, key));
}

/* An object as text: its members; objects in it under headings, lists of objects as tables. */
void info_print(struct json_object *object, int indent, FILE *file);
