/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement of the members of a communicator, also while members die, after the communicator has failed, and when the network has parted. Each
 * member gives a few words. All members that get a result get the same one: the words of some members, combined, and the list of these
 * members. No plan and no message of a call is used.
 *
 *   gone          a member that has died or left, that this rank cannot reach (HX_SILENT), or that counts this rank as gone. It stays gone
 *   out           a member that has failed in an agreement: it is in the minority, or the others have left it out. It tells the others, and is
 *                 gone for them, but not over
 *   over          a gone member that certainly takes no further step: its process has ended, or it has left
 *   here          not gone
 *   coordinator   the lowest rank that is not gone, as far as a member knows. So a member's coordinator only gets higher
 *   A1  give      a member promises its coordinator to follow it, gives its words, and tells which proposal it has accepted
 *   A2  propose   a coordinator awaits this from all members that are not gone. If one of them, or itself, has accepted a proposal, it
 *                 proposes the value of the highest of these again. Else it combines the words, and proposes the result. It proposes once
 *   A3  accept    a member accepts the proposal of its coordinator, in place of an earlier one, and answers. Members that were gone for the
 *                 coordinator when it proposed do not get the proposal
 *   A4  decide    when all members that are not gone have accepted its proposal, a coordinator decides, and tells the others
 *   A5            a member that learns from any member of a decision by the proposal of rank b decides too if it has accepted the proposal of
 *                 b or of a higher rank. Else the others have left it out
 *   A6  quorum    a coordinator proposes and decides only if one of these is true of the members that are not gone for it:
 *                   they are large: more than half of the communicator, or half of it with rank 0
 *                   all other members are over, and each member that is here has said so in its promise or its acceptance
 *                 Otherwise it is in the minority, and fails. With HX_QUORUM=any it continues
 *
 * Two large groups have a member in common. This is Paxos, whose ballots are the coordinators' ranks. "Over" replaces a quorum where
 * most members have died.
 *
 * Proof that ranks which are alive at the same time decide the same value (with HX_QUORUM=majority). Let k decide value v, with those that
 * have accepted its proposal, A. Let r be the lowest rank above k that proposes another value, w, with those that have given, G.
 *   1. A member of both A and G has promised to follow r after it had accepted v from k, since coordinators only get higher. So r
 *      knows the proposal of k, or one between k and r, whose value is v. r proposes v (A2). Hence A and G have no member in common.
 *   2. So A and G are not both large. Only members of G get the proposal of r, so only these accept w from r (A3).
 *   3. Suppose that G is not large. Then all members outside G were over when r proposed, so all live ranks are in G. None of them had
 *      accepted v: r would have learned it (A2). None accepts v later, because all follow r.
 *   4. Suppose that A is not large. Then all members outside A were over when k decided, and each member of A knew this. A member of A that
 *      later follows a higher rank follows a member of A. That rank has accepted v and asks only ranks of A, so it proposes v. Hence G has
 *      no live rank: only ranks that have died can decide w.
 * If both groups were large in all agreements, decisions of ranks that die later are equal too. It follows that a decision needs no value of its
 * own (A5). A rank that has accepted the proposal of b or of a higher one has accepted v.
 *
 * It is not enough to leave out members that are over, and to compare the live ranks of both sides. Example: 0 to 4 decide while 5, 6 and 7
 * cannot be reached. Then 2, 3 and 4 die. 0 and 1 continue with the decision. If 5, 6 and 7 learn only of the deaths, they are three
 * against two, and would decide another value.
 *
 * Proof that all live members end. A wait ends with the part of the awaited member, or when it is gone. Then the next coordinator is a higher
 * rank. A coordinator in the minority tells the others which ranks are gone and which are over, so they find the same. A member that
 * has decided may make no calls for a while. Ranks of its node read its part in the segment. Ranks of other nodes ask, and it answers when it
 * is in Hierax again. A rank that waits long asks all members that are here, a few at a time. So one member that has decided and answers is
 * enough. A member that follows the same coordinator is not asked again: if it decides by A5, it tells the rank that has asked. If no member
 * answers, the wait ends by HX_TIMEOUT.
 *
 * A part is three numbers that only grow: number of the agreement and coordinator, number and accepted proposal, number and proposal of the
 * last decision. So messages may come late, twice and in any order. tests/model/agree.pml checks the rules, and that each of them is needed.
 */
#pragma once

#include "runtime/engine/engine.h"

/* All agreements of a communicator have one sequence of numbers, whatever their kind. So ranks may meet in one with different kinds. */
enum hx_agree_kind { HX_AGREE_COMMIT, HX_AGREE_GROW, HX_AGREE_FLAGS, HX_AGREE_MEMBERS, HX_AGREE_MADE };
/* Kinds that yield: if ranks meet with different kinds, calls of these kinds fail, and the other ranks agree again. */
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
 * thread is in one; HX_ERR_PEER_DEAD: the others treat this rank as dead; HX_ERR_MINORITY: A6; HX_ERR_TIMEOUT: the next call continues with
 * this agreement, and with the words given first. */
hx_status_t hx_agree(struct hx_process *process, struct hx_members *members, struct hx_agreement *agreement);

/* The same for a caller that does not block. begin gives the words, advance is called until it returns nonzero, end returns the result.
 * waited: HX_SUCCESS, HX_ERR_TIMEOUT if the caller gives up, or the status of another reason that the caller has recorded; end then returns
 * it, and the next call goes on as after HX_ERR_TIMEOUT. One agreement of a communicator is open at a time. */
hx_status_t hx_agree_begin(struct hx_process *process, struct hx_members *members, const struct hx_agreement *agreement);
int hx_agree_advance(const struct hx_members *members);
hx_status_t hx_agree_end(const struct hx_members *members, hx_status_t waited, struct hx_agreement *agreement);
int hx_agree_is_open(const struct hx_members *members);
/* How long the open agreement has waited. */
struct hx_wait_clock *hx_agree_clock(const struct hx_members *members);
/* The wait is long: look for deaths. */
void hx_agree_slow(const struct hx_members *members);

/* Tell a member on another node this rank's part. */
void hx_agree_tell(const struct hx_process *process, const struct hx_members *members, int rank);
/* A message with the part of a member on another node has arrived. */
void hx_agree_heard(struct hx_process *process, struct hx_members *members, int rank, const struct hx_control_message *message);
/* peer asks about a communicator that this rank has freed. decided: what it has decided
 * last there; NULL: it no longer knows. */
void hx_agree_left_tell(const struct hx_process *process, int peer, const struct hx_control_message *message, const uint64_t *decided);
/* The last decision of this rank, for hx_agree_left_tell. */
uint64_t hx_agree_last(const struct hx_members *members);
