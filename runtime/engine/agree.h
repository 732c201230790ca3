/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement of the members of a communicator, also while members die and after the communicator has failed. Each member gives a few words.
 * All members that get a result get the same one: the words of some members, combined, and the list of these members. Every member that is
 * alive when the agreement ends is in the list. No plan and no message of a call is used.
 *
 *   coordinator   the lowest rank that has neither died nor left, as far as a member knows
 *   A1  give      a member publishes its words, and sends them to its coordinator
 *   A2  propose   a coordinator that has accepted no proposal awaits the words of all members that are there, combines them, and proposes
 *                 the result. A coordinator that has accepted one proposes the same value again
 *   A3  accept    a member accepts the proposal of its coordinator, in place of an earlier one, and answers
 *   A4  decide    when all members that are there have accepted its proposal, a coordinator decides, and tells the others
 *   A5            a member whose coordinator has decided decides too
 *
 * Proof that all decide the same value. Let k be the lowest coordinator that decides, v its value, and r a higher rank that proposes.
 *   1. r proposes only after k has died or left, so after k has decided.
 *   2. When k decided, every member that was not dead had accepted v from k (A4). r is one of them.
 *   3. Since then r has accepted only proposals of ranks between k and r, since its coordinators only get higher (A3). By induction over these ranks their value was v.
 *   4. So r proposes v (A2).
 * It follows that a decision needs no value of its own: a member that learns of any decision has accepted its value already. A member that
 * has accepted nothing by then was left out: the others hold it for dead. The proof needs that ranks held for dead make no further step.
 * Within a node, and for processes that end, this is so. A host that is unreachable for ten seconds counts as dead, and may run on. Then
 * each side decides for itself.
 *
 * Proof that all live members decide. A wait ends with the part of the awaited member or with its death. After a death the next
 * coordinator is a higher rank. A member that has decided may make no calls for a while. Ranks of its node read its part in the segment.
 * Ranks of other nodes ask, and it answers when it is in Hierax again.
 *
 * A part is one number that only grows: the number of the agreement, 1 + the rank with the accepted proposal, and whether it is decided.
 * So messages may come late, twice and in any order. tests/model/agree.pml checks the rules, and that each of them is needed.
 */
#pragma once

#include "runtime/engine/engine.h"

/* Ranks count their agreements together, whatever these are about. So a rank may be in one of another kind than the others. */
enum hx_agree_kind { HX_AGREE_COMMIT, HX_AGREE_GROW, HX_AGREE_FLAGS, HX_AGREE_MEMBERS, HX_AGREE_MADE };
/* Those of calls that fail if other ranks have left them for another kind. The others then agree again. */
#define HX_AGREE_GIVES_WAY (1u << HX_AGREE_COMMIT | 1u << HX_AGREE_GROW)

struct hx_agreement {
    const char *name;               /* of the public function */
    enum hx_agree_kind kind;
    uint64_t words[HX_AGREE_WORDS]; /* in: of this rank; out: of all, the AND of the first (32 bits), the least of each other one */
    unsigned kinds;                 /* out: of all, a bit for each kind */
    const uint64_t *members;        /* out: whose words these are, a bit for each rank of the communicator. Valid until the next agreement */
};

static inline int hx_agreed_has(const struct hx_agreement *agreement, int rank)
{
    return agreement->members[rank / 64] >> (rank % 64) & 1;
}

/* Agree. Blocking; all members make such calls in the same order. Errors, of this rank alone: HX_ERR_NOMEM, HX_ERR_TRANSPORT; HX_ERR_STATE: another
 * thread is in one; HX_ERR_PEER_DEAD: the others hold this rank for dead; HX_ERR_TIMEOUT: the next call goes on with this agreement, and with the words given
 * first. */
hx_status_t hx_agree(struct hx_process *process, struct hx_members *members, struct hx_agreement *agreement);

/* The same for a caller that does not block. begin gives the words, advance is called until it returns nonzero, end returns the result.
 * waited: HX_SUCCESS, or HX_ERR_TIMEOUT if the caller gives up. One agreement of a communicator is open at a time. */
hx_status_t hx_agree_begin(struct hx_process *process, struct hx_members *members, const struct hx_agreement *agreement);
int hx_agree_advance(const struct hx_members *members);
hx_status_t hx_agree_end(const struct hx_members *members, hx_status_t waited, struct hx_agreement *agreement);
int hx_agree_is_open(const struct hx_members *members);
/* How long the open one has waited. It waits long: look for deaths. */
struct hx_wait_clock *hx_agree_clock(const struct hx_members *members);
void hx_agree_slow(const struct hx_members *members);

/* Tell a member on another node this rank's part. */
void hx_agree_tell(const struct hx_process *process, const struct hx_members *members, int rank);
/* A message with the part of a member on another node has arrived. */
void hx_agree_heard(struct hx_process *process, struct hx_members *members, int rank, const struct hx_control_message *message);
/* peer asks about a communicator that this rank has freed. It has decided all agreements that can be decided. */
void hx_agree_left_tell(const struct hx_process *process, int peer, const struct hx_control_message *message);
