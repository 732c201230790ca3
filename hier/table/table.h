/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning table: which plan was measured to be the fastest, for a collective, a shape and a range of sizes. coll_tune writes it, rank 0
 * of a job reads it (HX_TABLE) and broadcasts what fits the job; the planner asks it before the cost model.
 *
 *   {
 *     "hierax_table": 1,
 *     "hierax": "0.3.0",
 *     "machine": {"cpu": "...", "cpus": 96},
 *     "models": [
 *       {"provider": "efa", "net_alpha_us": 17, "net_gb_s": 12, "stream_gb_s": 9, "core_gb_s": 900,
 *        "message_us": 0.4, "points": 55},
 *       {"provider": "", "intra_alpha_us": 0.2, "intra_gb_s": 8, "reduce_gb_s": 12, "fetch_us": 1,
 *        "fetch_gb_s": 5, "switch_us": 1.1, "points": 55}
 *     ],
 *     "entries": [
 *       {"collective": "allreduce", "commutative": true, "datatype": "float", "alloc": false, "nodes": 4, "ranks_per_node": [2, 2], "placement": "block", "provider": "efa",
 *        "loop": "mixed", "bytes": [5793, 23170], "measured": 8192, "plan": "hier(nary,ring,nary) x2", "slice": 0, "us": 31.5, "default_us": 40.2,
 *        "default_plan": "hier(nary,circulant,nary)"},
 *       ...
 *     ]
 *   }
 */
#pragma once

#include "hier/cost/cost.h"
#include "runtime/base/env.h"
#include <stdio.h>

#define HX_TABLE_VERSION 1
#define HX_TABLE_CPU_BYTES 64
#define HX_TABLE_PROVIDER_BYTES 32
#define HX_TABLE_MODELS 8 /* at most */
#define HX_TABLE_FILE_BYTES 96
#define HX_TABLE_MAX_BYTES (4 << 20) /* of a file */

struct hx_table_entry {
    /* the calls that it is for */
    enum hx_coll coll;
    int ordered;                             /* an operation that is not commutative */
    enum hx_numbers numbers;                 /* that it folds */
    int shared_alloc;                             /* buffers in memory of hx_alloc */
    int nnodes, min_local, max_local;        /* shape: nodes; ranks on the emptiest and the fullest */
    int in_order;                            /* 1: every node holds a run of ranks ("block"), 0: not ("other") */
    char provider[HX_TABLE_PROVIDER_BYTES];  /* as hx_table_provider names it; "" on one node */
    uint64_t from_bytes, to_bytes;           /* of the whole vector, both included */
    int64_t measured_bytes;                  /* the size that was measured; -1: the file does not say */
    /* the result */
    char plan[HX_CANDIDATE_NAME_BYTES];      /* as hx_candidate_name */
    uint64_t slice_bytes;                    /* of the vector, HX_SLICE_LEAST to HX_SLICE_MOST; 0: as the planner cuts it */
    int mixed;                               /* 1: times are geometric means of cold and warm calls; 0: of cold calls only */
    double us;                               /* median time of a call */
    char default_plan[HX_CANDIDATE_NAME_BYTES]; /* the cost model's choice, and its time */
    double default_us;
    int line; /* of the file it was read from */
};

/* Parameters of the cost model as they were measured: those of one provider's network, or with provider "" those of the
 * node. */
struct hx_table_model {
    char provider[HX_TABLE_PROVIDER_BYTES];
    double values[HX_COST_PARAMETERS]; /* 0: of the other kind, or not known */
    int points;                        /* collectives and sizes that were measured for them; 0: nothing is known */
    int line;                          /* of the file it was read from */
    char file[HX_TABLE_FILE_BYTES];    /* its name, or the end of a longer name */
};

/* A table holds for machines with the same processor model and the same number of processing units. */
struct hx_table_machine {
    char hierax[16];               /* version of Hierax that made the table; later versions use it too */
    char cpu[HX_TABLE_CPU_BYTES];  /* model */
    int cpus;                      /* processing units of the machine */
};

struct hx_table {
    struct hx_table_machine machine;
    int line; /* of the file, where it describes that machine */
    int nmodels;
    struct hx_table_model models[HX_TABLE_MODELS];
    int n;
    struct hx_table_entry *entries;
};

/* A new empty table of this machine; NULL: no memory. */
struct hx_table *hx_table_new(void);
void hx_table_free(struct hx_table *table);

/* Read a file; its entries come in the order of hx_table_sort. HX_ERR_ENV with "file:line:column: reason" in the detail: the
 * file is not a table, is of a later version, has a wrong or repeated member, or has two entries for the same calls. The detail
 * is "file: reason" if the file cannot be read. It is not logged: the caller decides whether the job ignores the file, and
 * reports it. */
hx_status_t hx_table_read(const char *path, struct hx_table **table);
/* The same of a text, which a NUL follows. path: for messages. */
hx_status_t hx_table_parse(const char *path, const char *text, size_t bytes, struct hx_table **table);

/* Put entries in order: by what they are for, then by size. Returns NULL, or the first of two neighbours that hold for the same sizes. */
const struct hx_table_entry *hx_table_sort(struct hx_table *table);

/* As a file holds it. */
void hx_table_print(FILE *out, const struct hx_table *table);

/* NULL, or why a table of that machine does not hold for this one ("it was made on ..., this is ..."); text holds it. */
const char *hx_table_foreign(const struct hx_table *table, char text[256]);

/* Are two entries for the same, whatever the sizes? */
int hx_table_same_key(const struct hx_table_entry *a, const struct hx_table_entry *b);

/* Add an entry. Other entries with its key that hold for some of its sizes are cut or dropped. HX_ERR_NOMEM. */
hx_status_t hx_table_add(struct hx_table *table, const struct hx_table_entry *entry);

/* The name of a provider in tables: for native TCP the newer one. A time holds for the network, whatever libfabric calls its provider. */
const char *hx_table_provider(const char *provider);

/* Give providers these names, in a table that has been read and sorted. If it has entries of both names for the same calls, or two
 * models, those of the newer name count. HX_ERR_NOMEM. */
hx_status_t hx_table_rename(struct hx_table *table);

/* Fill in the key: all but the sizes and the result. provider NULL: one node. */
void hx_table_key(struct hx_table_entry *entry, enum hx_coll coll, struct hx_traits traits, const struct hx_shape *shape,
                  const char *provider);

/* "float", "half", "integer", "own" */
extern const char *const hx_numbers_names[HX_NUMBERS_COUNT];

/* The entry of n that holds for key and bytes; NULL: none. */
const struct hx_table_entry *hx_table_find(const struct hx_table_entry *entries, int n, const struct hx_table_entry *key, uint64_t bytes);

/* The model of a provider's network, of "" the node's; NULL: none. */
const struct hx_table_model *hx_table_model(const struct hx_table *table, const char *provider);

/* Add a model, in place of the one of its provider. HX_ERR_ENV: there are too many. */
hx_status_t hx_table_model_add(struct hx_table *table, const struct hx_table_model *model);

/* A model of these values; put its values among the parameters. */
void hx_table_model_fill(struct hx_table_model *model, const char *provider, const struct hx_cost_params *params,
                         int points);
void hx_table_model_use(const struct hx_table_model *model, struct hx_cost_params *params);

/* The part of its tables that a job uses, as rank 0 sends it: its two models, and the entries. */
struct hx_tuning {
    struct hx_table_model net, node; /* without points: there is none */
    struct hx_table_entry entries[];
};

/* JSON schema of the file, as text. */
extern const char hx_table_schema[];
