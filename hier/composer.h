/* SPDX-License-Identifier: BSD-3-Clause */
/* A composition under way, and what compositions are made of. Errors are sticky, in status. Private to compose*.c. */
#ifndef HX_COMPOSER_H
#define HX_COMPOSER_H
#include "compose.h"

struct composer {
    const struct hx_shape *shape;
    const struct hx_candidate *candidate;
    struct hx_plan *plan;
    int rank, node, local, n; /* me, my node and its size */
    hx_status_t status;
};

/* Append a stage; NULL after an error. */
struct hx_stage *hx_composer_stage(struct composer *c, int level, enum hx_scope scope, const int *members, int n, int me,
                                   enum hx_space in, enum hx_space out);
void hx_composer_build(struct composer *c, struct hx_stage *stage, const char *name, void (*build)(struct hx_builder *));

/* The ranks of my node. */
const int *hx_composer_node(const struct composer *c);

/* The local rank that carries lane on a node. */
int hx_composer_carrier(const struct composer *c, int lane, int node);

/* The stages, between nodes, of the lanes that this rank carries. */
void hx_composer_lanes(struct composer *c, int level, enum hx_space in, enum hx_space out);

/* hier/compose_scan.c */
void hx_compose_scan(struct composer *c);
void hx_compose_exscan(struct composer *c);

#endif
