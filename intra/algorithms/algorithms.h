/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms inside a node: slots and flags in shared memory. The source of the n-ary ones is the flag exchange of collectives
 * in shared memory (Open MPI xhc, MPICH release_gather), without a tree. allreduce_single_copy.c names that of the single copy.
 *
 * Costs: alpha is a flag handed to another core, beta the time for one byte to or from memory. Memory traffic counts the bytes
 * that a member reads, each once, and those that it writes: of input, slots and output. Reads of data
 * that it has written itself are not counted: they hit its own cache. Copying S costs 2 S.
 */
#pragma once

#include "runtime/plan/plan.h"

/* Also fixed parts of a composition: stage->holder then names the member that collects or hands out each block. */
extern const struct hx_algorithm hx_gather_nary, hx_scatter_nary, hx_alltoall_nary;

/* One stage of several, see hier/compose/levels.c, which sets stage->domain_start and charge_start. */
extern const struct hx_algorithm hx_allreduce_levels, hx_reduce_scatter_levels, hx_allgather_levels;

/* Fixed parts of a composition, not chosen by name. */
void hx_prefix_keep(struct hx_builder *b);
void hx_prefix_total(struct hx_builder *b);
void hx_prefix_apply(struct hx_builder *b);
void hx_prefix_apply_exclusive(struct hx_builder *b);
void hx_prefix_apply_nothing(struct hx_builder *b); /* on the first node: adds nothing, but has the slots of other nodes */
void hx_barrier_arrive(struct hx_builder *b);
void hx_barrier_release(struct hx_builder *b);
