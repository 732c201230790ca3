/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's verdict on the links between the hosts, apart from their measurement: doctor_links_judge.c. */
#pragma once

#include "tools/info/doctor.h"
#include "topo/ring_order.h"
#include "topo/shape.h"

struct doctor_links {
    int n; /* hosts: the nodes of shape */
    const struct hx_shape *shape;
    const struct hx_link *matrix; /* [n][n] from one to another; gb_s 0: not measured */
    double *costs;                /* room for 3n */
};

/* Does a link of this round (see hx_pair_partner) look slow? */
int doctor_round_is_slow(struct doctor_links *links, int round);
/* Tell slow hosts and slow links, or what the links are like. */
void doctor_links_judge(struct doctor_job *job, struct doctor_links *links);
