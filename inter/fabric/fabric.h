/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the files of inter/fabric call of each other. Results named "0, or -FI_EAGAIN" mean: done, or try again later. */
#pragma once

#include "inter/fabric/objects.h"

/* rail.c */
/* If it fails, rail->refusal and this thread's last detail say why. The error is not logged: another provider may be tried. */
hx_status_t hx_rail_open(const struct hx_net *net, struct hx_rail *rail);
int hx_rail_may_sleep(const struct hx_rail *rail);
void hx_rail_close(struct hx_rail *rail); /* all but the endpoint */

/* endpoint.c: reserve n more of the device's receives for control messages, credits and invitations */
void hx_recvs_reserve(struct hx_net *net, size_t n);

hx_status_t hx_net_open_now(struct hx_net *net); /* open the endpoints of a net that open_later has made. An error breaks net */

/* meeting.c: connecting to a peer after start-up */
void hx_meeting_post(struct hx_net *net, struct hx_net_op *op); /* post it once the peer is connected */
int hx_meeting_cancel(struct hx_net *net, struct hx_net_op *op); /* 1: op waited in a meeting, and is done now */
void hx_meeting_tell(struct hx_net *net, int peer);    /* once the peer is connected, the runtime sends its control messages again */
int hx_meeting_deliver(struct hx_net *net, int peer);  /* 0: the peer is being connected; -1: it cannot be reached */
int hx_meeting_check(struct hx_net *net, int peer);    /* 1: the peer cannot be reached */
int hx_meeting_has_left(const struct hx_net *net, int peer); /* 1: the peer has left the job without an endpoint */
struct hx_edge *hx_meeting_edge(const struct hx_net *net, int peer); /* the edge of a peer that is not connected yet; NULL: none */
void hx_meeting_note(struct hx_net *net, int peer);    /* the peer of a meeting has sent something */
/* The edge of a rank that was not connected until it sent its address; NULL: the rank cannot be connected. */
struct hx_edge *hx_meeting_begin(struct hx_net *net, int peer, const struct hx_control_message *message);
void hx_meeting_heard(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message); /* the kind is ADDRESS */
void hx_meetings_continue(struct hx_net *net);
int hx_meetings_have_news(const struct hx_net *net);   /* do control messages wait? */
int hx_meetings_are_due(const struct hx_net *net);
void hx_meetings_break(struct hx_net *net, hx_status_t why);
void hx_meetings_close(struct hx_net *net);
hx_status_t hx_directory_use(struct hx_net *net, const struct hx_net_directory *directory);

/* close.c */
int hx_any_edge_is_gone(const struct hx_net *net);
void hx_edge_free(struct hx_edge *edge); /* NULL: does nothing */
/* Returns 1 once they are closed. Returns 0 if that takes too long: then nothing that they use may be closed or unmapped. Call
 * again to see whether they are closed by now. */
int hx_endpoints_close(struct hx_net *net);
void hx_net_drain(struct hx_net *net);
int hx_net_close(struct hx_net *net, int orderly);

/* address.c */
hx_status_t hx_address_get(struct hx_net *net, void *blob, size_t *bytes);
hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *blob, size_t bytes);
hx_status_t hx_edge_make(struct hx_net *net, int peer, const void *blob, size_t bytes, struct hx_edge **out);
/* Take the properties that all endpoints of the job share from this peer's address, until this rank has its own endpoints. */
hx_status_t hx_address_adopt(struct hx_net *net, int peer, const void *blob, size_t bytes);
hx_status_t hx_address_agree(int a, const void *of_a, size_t a_bytes, int b, const void *of_b, size_t b_bytes);
void hx_address_refusals(int rank, const void *address, size_t bytes, struct hx_net_refusals *all);
void hx_address_profile(const struct hx_net *net, const void *address, size_t bytes, struct hx_net_profile *out);

/* path.c: make the paths of an edge */
hx_status_t hx_paths_make(struct hx_net *net, struct hx_edge *edge, const struct hx_path_end *mine, const struct hx_path_end *theirs);

/* FNV-1a; hash: of what comes before */
#define HX_FNV_START UINT64_C(14695981039346656037)
static inline uint64_t hx_fnv(uint64_t hash, const void *data, size_t bytes)
{
    for (const uint8_t *at = data; at < (const uint8_t *)data + bytes; at++)
        hash = (hash ^ *at) * UINT64_C(1099511628211);
    return hash;
}

/* sockets.c: descriptors that children must not hold */
uint64_t hx_host_hash(const void *name, size_t bytes);    /* of a sockaddr's IP address; 0: it has none */
uint64_t hx_address_hash(const void *name, size_t bytes); /* of its IP address and port; 0: it has none */
int hx_socket_is_own(const struct hx_net *net, int fd);   /* is its own address that of one of this rank's endpoints? */
void hx_sockets_guard(struct hx_net *net); /* if it is due: set FD_CLOEXEC */
void hx_sockets_close_in_child(const struct hx_net *net); /* in a child made by fork. Calls only functions that are safe there */
#define HX_GUARD_NS_MIN UINT64_C(10000000) /* a search takes a tenth of a millisecond */
static inline void hx_edge_note_traffic(struct hx_net *net, struct hx_edge *edge)
{
    if (edge->has_traffic)
        return;
    edge->has_traffic = net->unguarded = 1;
    net->guard_ns = HX_GUARD_NS_MIN;
}

/* strangers.c */
void hx_strangers_prepare(const struct hx_net *net); /* set the listeners' receive time-out */
void hx_strangers_check(struct hx_net *net);         /* if it is due: find the connections of strangers, and reset them */

/* bounce.c */
/* Allocate a first block of each kind if they need registration, so that a job with too little locked memory fails at start. */
hx_status_t hx_bounce_prepare(const struct hx_net *net, struct hx_rail *rail);
int hx_sink_is_needed(const struct hx_net *net); /* does a message that is longer than its receive break the connection? */
hx_status_t hx_sink_prepare(struct hx_net *net);
/* NULL: memory or registration was refused. */
struct hx_bounce *hx_bounce_alloc(const struct hx_net *net, struct hx_rail *rail, size_t bytes);
struct hx_bounce *hx_bounce_alloc_receive(const struct hx_net *net, struct hx_rail *rail, size_t bytes);
/* Its receive was cancelled: no longer count it as a receive. The peer may still write into it. */
void hx_bounce_end_receive(struct hx_bounce *bounce);
void hx_bounce_release(struct hx_bounce *bounce);
void hx_bounce_close(struct hx_net *net);
int hx_rail_register(struct hx_rail *rail, void *base, size_t bytes, struct hx_registration *out); /* 0, or libfabric's error */

/* chunk_post.c */
struct hx_chunk *hx_chunk_alloc(struct hx_net *net); /* NULL: no memory */
void hx_chunk_release(struct hx_net *net, struct hx_chunk *chunk);
struct hx_chunk *hx_chunk_numbered(const struct hx_net *net, uint64_t number); /* NULL: there is none */
/* The next one in use, in any order; NULL: the first, or no more. The loop may release the last one. */
struct hx_chunk *hx_chunk_next(const struct hx_net *net, struct hx_chunk *last);
void hx_chunks_close(struct hx_net *net);
size_t hx_segment_rest(const struct hx_net_op *op, size_t offset); /* bytes from offset on in one piece of memory */
/* Copy the message's segments at offset to contiguous memory (direction: HX_NET_SEND), or back. */
void hx_segments_copy(const struct hx_net_op *op, size_t offset, void *memory, size_t bytes, enum hx_net_direction direction);
/* A request for the chunk at offset, and the pieces to post: the message's own memory, or a bounce buffer. NULL: no memory now. */
struct hx_chunk *hx_chunk_make(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op, size_t offset,
                               size_t bytes, struct hx_pieces *pieces);
void hx_chunk_drop(struct hx_net *net, struct hx_chunk *chunk); /* it was not posted */
ssize_t hx_chunk_inject(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, size_t bytes);
ssize_t hx_chunk_send(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op, size_t bytes);
ssize_t hx_chunk_receive(struct hx_net *net, struct hx_chunk *chunk, struct hx_pieces *pieces);
int hx_chunk_repost(struct hx_net *net, struct hx_chunk *chunk); /* 0, or -FI_EAGAIN */
uint64_t hx_chunk_tag(const struct hx_net_op *op, size_t offset);
/* "Try again later": once something has ended. Other errors end the message. */
static inline int hx_is_refusal(ssize_t rc)
{
    return rc == -FI_EAGAIN || rc == -FI_ENOMEM || rc == -FI_ENOBUFS;
}
/* The provider has returned this error. -FI_EAGAIN: try again; 0: the message has failed. */
int hx_chunk_refused(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, ssize_t rc);
/* The request has ended: release what it holds. Returns its message. detach keeps the request itself. */
struct hx_net_op *hx_chunk_detach(struct hx_net *net, struct hx_chunk *chunk);
struct hx_net_op *hx_chunk_end(struct hx_net *net, struct hx_chunk *chunk);

/* region.c: see runtime/ports/transport.h */
void hx_region_add(struct hx_net *net, void *base, size_t bytes, enum hx_net_memory kind);
int hx_region_remove(struct hx_net *net, const void *base);
void hx_regions_close(struct hx_net *net);
void hx_regions_reopen(struct hx_net *net); /* add the regions again that were added before the endpoints opened */
/* The registration for the rail of a buffer of at most a chunk; NULL if it is in no region, or refused. */
const struct hx_registration *hx_region_find(struct hx_net *net, struct hx_rail *rail, const void *buffer, size_t bytes);
/* Is this memory the runtime's own, so that the program does not use it after a call has failed? */
int hx_region_is_internal(const struct hx_net *net, const struct hx_registration *registration);

/* tcp_space.c */
void hx_tcp_space_prepare(struct hx_net *net);
/* How may a message of so many bytes be sent? DIRECT: from the caller's memory. COPY: from a bounce buffer. A long one may have to
 * wait: SOON: try again soon; LATER: try again when a send has ended. */
enum hx_send_mode { HX_SEND_SOON, HX_SEND_LATER, HX_SEND_COPY, HX_SEND_DIRECT };
enum hx_send_mode hx_path_send_mode(struct hx_net *net, struct hx_path *path, size_t bytes, int is_large);
/* A send, or a write, was posted; chunk: NULL if it was injected. */
void hx_path_posted(struct hx_path *path, size_t bytes, struct hx_chunk *chunk);
void hx_path_ended(struct hx_path *path, const struct hx_chunk *chunk);          /* a send has completed, or has failed */

/* message.c */
void hx_message_post(struct hx_net *net, struct hx_net_op *op);
void hx_message_advance(struct hx_net *net, struct hx_net_op *op, size_t bytes); /* bytes more are no longer in flight */
int hx_recv_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op); /* 0, or -FI_EAGAIN */
void hx_recv_enqueue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op); /* post the rest later */
void hx_recv_repost(struct hx_net *net, struct hx_chunk *chunk); /* its message was dropped: post the receive again, now or later */
void hx_edge_activate(struct hx_net *net, struct hx_edge *edge);
void hx_edges_retry(struct hx_net *net);
struct hx_op_queue *hx_op_queue_of(struct hx_edge *edge, const struct hx_net_op *op); /* in which op waits */
void hx_op_queue_remove(struct hx_op_queue *queue, const struct hx_net_op *op);

/* cancel.c */
int hx_message_cancel(struct hx_net *net, struct hx_net_op *op, int is_lost);
void hx_message_fail(struct hx_net *net, struct hx_net_op *op, hx_status_t status); /* done once nothing is in flight */
void hx_queue_fail(struct hx_net *net, struct hx_op_queue *queue, hx_status_t status); /* each message in it */
/* theirs: the signature in the peer's invitation, 0: none. If it is of another call, the message fails and the result is 1. */
int hx_message_mismatches(struct hx_net *net, struct hx_net_op *op, uint32_t theirs);
/* Wait, for a bounded time, until no request uses one of n registrations. Returns 0 if some still do. */
int hx_registrations_drain(struct hx_net *net, const struct hx_registration *first, size_t n);
void hx_net_break_soon(struct hx_net *net, hx_status_t why); /* in hx_net_progress; the text is this thread's last detail */
void hx_net_break(struct hx_net *net, hx_status_t why); /* close the endpoints: every message fails, none is touched again */

/* write.c */
/* Before the rail is opened. Returns whether its provider has writes. */
int hx_writes_negotiate(const struct hx_net *net, struct hx_rail *rail);
int hx_writes_are_native(const struct hx_rail *rail); /* once it is open */
int hx_invites_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op); /* of a receive. 0, or -FI_EAGAIN */
void hx_invite_arrived(struct hx_net *net, struct hx_edge *edge, const struct hx_invitation *invitation);
int hx_writes_continue(struct hx_net *net, struct hx_edge *edge); /* 0, or -FI_EAGAIN */
int hx_writes_are_pending(struct hx_net *net, const struct hx_edge *edge); /* do messages wait for an invitation or for a write? */
void hx_writes_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status);
void hx_invites_drop(struct hx_edge *edge, uint64_t match, uint64_t matches); /* of `matches` match ids from match on */

/* unexpected.c */
void hx_unexpected_peek(struct hx_net *net);
void hx_unexpected_found(struct hx_net *net, struct hx_chunk *chunk, uint64_t tag, size_t bytes);
void hx_unexpected_none(struct hx_net *net, struct hx_chunk *chunk);
void hx_unexpected_complete(struct hx_net *net, struct hx_chunk *chunk, int arrived, uint32_t data);
/* If op's next chunk has arrived already, receive it: 1; 0 if not; -FI_EAGAIN while it is arriving. */
int hx_unexpected_take(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, uint64_t tag, size_t bytes);
void hx_unexpected_drop(struct hx_edge *edge, uint64_t match, uint64_t matches, int all); /* all: also those still arriving */

/* completion.c */
int hx_net_progress(struct hx_net *net);
/* A chunk of op has arrived with a valid proof. came: bytes that arrived; bytes: expected. data: where they are; NULL: in place. */
void hx_recv_arrived(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t offset, size_t bytes,
                     size_t came, void *data);
/* This chunk has arrived, or was written. Returns by how many chunks in_order has grown. At most 64 chunks are in flight. */
unsigned hx_op_note_chunk(struct hx_net_op *op, size_t number);
/* Does this completion data prove that the chunk at offset belongs to op? If not, the chunk is dropped, and the caller posts its
 * receive again. */
int hx_recv_check(struct hx_net *net, struct hx_net_op *op, size_t offset, uint32_t data);

/* completion_error.c */
int hx_error_read(struct hx_net *net, struct hx_rail *rail); /* Returns whether a message has changed */
int hx_events_read(struct hx_net *net); /* 0, or -hx_status_t */

/* control_message.c; hx_control_message_send, _listen and _deliver: see runtime/ports/transport.h */
/* A request that belongs to no message. */
struct hx_chunk *hx_control_alloc(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, struct hx_path *path);
/* Write the proof into the control message, and send a copy of it. 0, -FI_EAGAIN, or another error of libfabric. */
ssize_t hx_control_send(struct hx_net *net, struct hx_edge *edge, enum hx_control_kind kind, struct hx_packet *control);
ssize_t hx_control_inject(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, enum hx_control_kind kind,
                          struct hx_packet *control);
/* Post the receives that are not posted: of control messages of this peer, or of any peer (edge NULL). 0, or -FI_EAGAIN. */
int hx_control_receive(struct hx_net *net, struct hx_rail *rail, struct hx_edge *edge, enum hx_control_kind kind);
void hx_control_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes);
void hx_control_message_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg);
void hx_control_message_send(struct hx_net *net, int peer, const struct hx_control_message *message);
int hx_control_message_deliver(struct hx_net *net, int peer, const struct hx_control_message *message);
/* 1: sent; 0: enough are in flight; or -FI_EAGAIN. */
int hx_control_message_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message);
int hx_control_message_continue(struct hx_net *net, struct hx_edge *edge); /* 0, or -FI_EAGAIN */

/* dead_peer.c; hx_peer_check: see ask in runtime/ports/transport.h */
int hx_peer_check(struct hx_net *net, int peer, const struct hx_control_message *message);
int hx_peer_has_ended(const struct hx_net *net, int peer);
/* A short message was lost because its peer was unreachable. The provider does not say which peer. code, why: the provider's
 * error. */
void hx_loss_note(struct hx_net *net, int code, const char *why);
/* Over TCP: does the peer still accept connections, although one has broken? Waits for up to a second. */
int hx_edge_accepts(const struct hx_net *net, struct hx_edge *edge);

/* End the TCP connections to this peer. The provider then completes all operations on them with an error. An accepted connection shows only the
 * peer's host. So connections from other peers of that host end too, if nothing has arrived over them for a while. */
void hx_peer_disconnect(const struct hx_net *net, const struct hx_edge *edge);
void hx_edge_mark_gone(struct hx_net *net, struct hx_edge *edge);
void hx_late_peers_close(struct hx_net *net);

/* proof.c */
void hx_proofs_open(struct hx_net *net, const unsigned char key[HX_NET_KEY_BYTES]);
/* Write the proof of the next control message of this kind to the peer. */
void hx_proof_write(const struct hx_net *net, const struct hx_edge *edge, enum hx_control_kind kind, struct hx_packet *control);
/* The completion data of a chunk from one rank to another; never 0. */
uint32_t hx_proof_data(const struct hx_net *net, int from, int to, uint64_t match, uint64_t chunk, uint32_t signature);
/* The number of a request, as its invitation carries it. */
uint32_t hx_number_encrypt(const struct hx_net *net, uint32_t number);
uint32_t hx_number_decrypt(const struct hx_net *net, uint32_t encrypted);
/* Check the kind, length (bytes) and proof of a control message. Returns the rank that has sent it, even if it is not connected; -1: forged. */
int hx_proof_sender(const struct hx_net *net, enum hx_control_kind kind, const struct hx_packet *control, size_t bytes);
/* Note the number of a genuine control message. Returns 0 if the message is a repetition. */
int hx_proof_is_new(struct hx_edge *edge, enum hx_control_kind kind, const struct hx_packet *control);
/* Count a forged message, and report the first. what: "a control message"; claimed: the rank that it names, -1: none. */
void hx_forgery_note(struct hx_net *net, const char *what, int claimed);

/* credit.c */
struct hx_flow *hx_flow_of(struct hx_edge *edge, uint64_t number);              /* NULL: no memory */
void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge, const struct hx_credit *credit);
int hx_credit_send(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow); /* 0, or -FI_EAGAIN */
void hx_credits_resend(struct hx_net *net, struct hx_edge *edge); /* one was lost */
int hx_flows_are_pending(const struct hx_edge *edge);             /* does a message wait for a credit? */
void hx_flows_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status);
void hx_flows_drop(struct hx_edge *edge, uint64_t first, uint64_t n, int all); /* all: also those with messages that wait */
/* See forget in runtime/ports/transport.h. */
void hx_communicator_drop(struct hx_net *net, int peer, uint64_t flow, uint64_t flows, uint64_t match, uint64_t matches);

static inline uint64_t hx_control_tag(enum hx_control_kind kind)
{
    return HX_CREDIT_TAG | kind;
}

static inline size_t hx_control_bytes(enum hx_control_kind kind) /* as it is sent */
{
    static const size_t bytes[HX_CONTROLS] = {sizeof(struct hx_credit), sizeof(struct hx_invitation),
                                              sizeof(struct hx_control_message)};

    return offsetof(struct hx_packet, credit) + bytes[kind];
}

static inline int hx_match_is_credit(uint64_t match)
{
    return (match & HX_CREDIT_MATCH) == HX_CREDIT_MATCH;
}
static inline void hx_recvs_count(struct hx_net *net, struct hx_edge *edge, size_t more)
{
    net->recvs_in_flight += more;
    edge->recvs_in_flight += more;
}
static inline void hx_recvs_ended(struct hx_net *net, struct hx_edge *edge, size_t n)
{
    net->recvs_in_flight -= n;
    edge->recvs_in_flight -= n;
}

static inline int hx_op_is_large(const struct hx_net_op *op)
{
    return op->total_bytes > HX_EAGER_BYTES;
}
static inline int hx_op_pays_credits(const struct hx_net_op *op)
{
    return hx_op_is_large(op) && !op->written;
}
static inline size_t hx_chunk_bytes_most(const struct hx_net *net)
{
    return net->chunk_bytes > HX_EAGER_BYTES ? net->chunk_bytes : HX_EAGER_BYTES;
}
static inline size_t hx_op_chunk_bytes_at(const struct hx_net_op *op, size_t offset)
{
    size_t left = op->total_bytes - offset;

    return left < op->chunk_bytes ? left : op->chunk_bytes;
}
static inline void *hx_descriptor(const struct hx_registration *registration)
{
    return registration && registration->mr ? fi_mr_desc(registration->mr) : NULL;
}

/* The kind of request posted for a chunk of op. A receive that the peer writes sends an invitation. */
static inline enum hx_post hx_op_post(const struct hx_net_op *op)
{
    return op->direction == HX_NET_RECV && !op->written ? HX_POST_RECV : HX_POST_SEND;
}

/* After a refusal, retry only when the completion queue was read: only reading makes progress. Sends and receives are refused
 * separately, because posted receives that fill the device may depend on this peer's next send. */
static inline int hx_path_is_refused(const struct hx_path *path, enum hx_post post)
{
    return path->refused_at[post] == path->rail->reads;
}
static inline void hx_path_refuse(struct hx_path *path, enum hx_post post)
{
    path->refused_at[post] = path->rail->reads;
}

/* Chunks that may be in flight over all paths, if each path takes so many. */
static inline size_t hx_edge_window(const struct hx_edge *edge, size_t of_path)
{
    const size_t all = of_path * (size_t)edge->npaths;

    return all < HX_IN_FLIGHT_MOST ? all : HX_IN_FLIGHT_MOST;
}

/* Is half a grant received that was not reported to the peer? */
static inline int hx_credit_is_due(const struct hx_edge *edge, const struct hx_flow *flow)
{
    return flow->received - flow->reported >= hx_edge_window(edge, HX_GRANT) / 2;
}

/* ---- Which paths a message uses. Both ends cut it alike, and use the same path for chunk i:
 *
 *     0 1 2 3 4 5 6 7     a message of 8 chunks, its turn being 1, over 3 paths
 *     1 2 0 1 2 0 1 2     its chunks are sent
 *     1 1 1 2 2 2 0 0     they are written: an invitation has the key of one path, and names adjacent chunks
 *
 * A message of stripe_bytes has the same number of chunks on all paths. A shorter one uses a single path; the match ids spread such
 * messages over the paths. The first path does not depend on the length, so ends with different lengths still meet, and report it. */

static inline size_t hx_chunk_bytes(const struct hx_net *net, const struct hx_edge *edge, size_t total_bytes)
{
    size_t paths = (size_t)edge->npaths, chunks;

    if (paths == 1 || total_bytes < edge->stripe_bytes)
        return net->chunk_bytes;
    chunks = (total_bytes + net->chunk_bytes - 1) / net->chunk_bytes;
    chunks = (chunks + paths - 1) / paths * paths;
    chunks = (total_bytes + chunks - 1) / chunks;
    return chunks + 63 < net->chunk_bytes ? (chunks + 63) & ~(size_t)63 : net->chunk_bytes;
}

/* Adjacent chunks of a long message on one path. */
static inline size_t hx_path_chunks(const struct hx_edge *edge, const struct hx_net_op *op)
{
    const size_t paths = (size_t)edge->npaths, chunks = (op->total_bytes + op->chunk_bytes - 1) / op->chunk_bytes;
    const size_t part = (chunks + paths - 1) / paths;

    return !op->written ? 1 : part < HX_RECV_WINDOW ? part : HX_RECV_WINDOW;
}

static inline struct hx_path *hx_chunk_path(struct hx_edge *edge, const struct hx_net_op *op, size_t offset)
{
    uint64_t turn;

    if (edge->npaths == 1)
        return &edge->paths[0];
    turn = (op->match * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    if (op->total_bytes >= edge->stripe_bytes)
        turn += offset / op->chunk_bytes / hx_path_chunks(edge, op);
    return &edge->paths[turn % (uint64_t)edge->npaths];
}
