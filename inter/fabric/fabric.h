/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind runtime/ports/transport.h, private to inter/.
 *
 *   net  --has-->  edges, one per peer  --queue-->  messages (hx_net_op)  --cut into-->  chunks (requests)
 *     |                    |     `--has-->  flows  --queue-->  long messages
 *     |                    `-------has-->  paths, one per rail that both ends have; a long message takes all
 *     `--has-->  rails, one per interface in use, each with an endpoint  <--over-- path
 *
 * A tag is match << 6 | chunk number modulo 64, at least 48 bits. FI_DIRECTED_RECV matches the source.
 *
 * A message of more than HX_EAGER_BYTES pays one credit of its flow for each chunk. After each half of a grant the receiver sends a
 * credit: the flow, and the sum of the chunks that it has received in that flow. All flows of an edge use one tag. Because it is a sum, a
 * newer one replaces it, and sums may arrive in any order. The receiver counts a message's chunks only up to the first that is missing. So
 * no two chunks under way have the same number modulo 64.
 *
 * Where devices write into each other's memory by themselves, long messages go that way instead: write.c.
 */
#ifndef HX_INTER_FABRIC_FABRIC_H
#define HX_INTER_FABRIC_FABRIC_H
#include "runtime/base/error.h"
#include "runtime/ports/transport.h"
#include "topo/nic.h"
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/* libfabric's handlers of signals go: signals.c. A constructor; a call does no harm. */
void hx_signals_restore(void);

#define HX_EAGER_BYTES 8192 /* shorter messages never wait for a credit */
#define HX_CHUNK_BITS 6
#define HX_TAG_BITS_LEAST (HX_MATCH_BITS_LEAST + HX_CHUNK_BITS)
#define HX_CREDIT_MATCH ((UINT64_C(1) << HX_UNUSED_MATCH_BITS) - 1)
#define HX_CREDIT_TAG (HX_CREDIT_MATCH << HX_CHUNK_BITS)       /* plus enum hx_control_kind: the tags of control messages */
#define HX_GRANT 16         /* chunks a flow may have sent, for each path, beyond those known to be received */
#define HX_RECV_WINDOW 16   /* chunk receives of one message posted at a time, for each path */
#define HX_RECV_LIMIT 4096  /* ceiling on chunk receives posted at a time: what the completion queue of each rail holds of them */
#define HX_SEND_LIMIT 1024  /* ceiling on tx_attr->size */
#define HX_NICS_MAX 64      /* interfaces of one provider that are looked at */
#define HX_STRIPE_BYTES 16384 /* a message that has as much for each path is cut into chunks for all */
#define HX_RAILS_MAX 4      /* that one rank uses */
#define HX_INJECT_LIMIT 256 /* ceiling on tx_attr->inject_size */

/* ---- bounce buffers: memory of ours, registered once where the provider asks for it */
struct hx_registration {
    struct fid_mr *mr; /* NULL: none */
    uint8_t *base;
};

struct hx_bounce {
    void *base;
    const struct hx_registration *registration;
    struct hx_bounce *next;
    int receives; /* 1: counted in its pool's, else 0 */
};

struct hx_bounce_block;

struct hx_bounce_pool {
    size_t bounce_bytes, block_bounces;
    size_t bounces, receives; /* all; those of receives that are posted */
    int is_full;            /* it could not grow */
    struct hx_bounce *free;
    struct hx_bounce_block *blocks;
};

enum { HX_BOUNCE_CONTROL, HX_BOUNCE_EAGER, HX_BOUNCE_CHUNK, HX_BOUNCE_KINDS };

/* ---- requests */
enum hx_control_kind { HX_CONTROL_CREDIT, HX_CONTROL_INVITE, HX_CONTROL_MESSAGE, HX_CONTROLS };

enum hx_chunk_kind {
    HX_CHUNK_FREE,
    HX_CHUNK_SEND,
    HX_CHUNK_RECV,
    HX_CHUNK_AGAIN,  /* a receive to be posted again: the message that arrived in it was dropped */
    HX_CHUNK_TARGET, /* a receive that the peer writes: it is invited to, nothing is posted */
    HX_CHUNK_INVITE, /* that invitation */
    HX_CHUNK_LISTEN, /* a receive of the peer's next invitation */
    HX_CHUNK_CREDIT, /* a receive of the peer's next credit */
    HX_CHUNK_TELL,   /* a credit that is sent, where it cannot be injected */
    HX_CHUNK_PEEK,   /* a look for early messages */
    HX_CHUNK_EARLY,  /* the receive of one that it has found */
    HX_CHUNK_MESSAGE,   /* a control message that is sent */
    HX_CHUNK_HEAR,   /* the receive of the next, from anybody: of no edge */
    HX_CHUNK_SPENT   /* a send that has failed: more may be told of it */
};

struct hx_early; /* a message taken before its receive was posted */

#define HX_PIECES 4 /* of one chunk, posted as they are: what providers take at least, but for those that take one only */

struct hx_pieces {
    struct iovec at[HX_PIECES + 1]; /* one more for the sink */
    size_t n;
};

struct hx_chunk {
    struct fi_context2 context; /* first: libfabric hands this address back */
    struct hx_net_op *op;       /* NULL once the message was cancelled or has failed */
    struct hx_edge *edge;
    struct hx_path *path;   /* of the edge */
    struct hx_bounce *bounce;   /* NULL: straight to or from the caller's memory */
    const struct hx_registration *registration; /* of what is sent or received into; NULL where none is needed */
    struct hx_early *early; /* where an early message goes */
    size_t offset, bytes;   /* within the message; HEAR: offset is the number of the rail */
    uint64_t order;         /* of a send: its number among the sends of its path */
    uint64_t tag;
    enum hx_chunk_kind kind;
    uint32_t number;       /* among all chunks of the endpoint: what a write into it brings along */
    struct hx_chunk *next; /* free list */
};

struct hx_chunk_block;
struct hx_region; /* region.c */
struct hx_invite; /* write.c */
struct hx_socket; /* room.c */

struct hx_op_queue {
    struct hx_net_op *head, *tail;
};

/* ---- one interface */
struct hx_rail {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    size_t sends_in_flight;
    uint64_t next_key;
    uint64_t reads; /* of the completion queue, plus 1 */
    uint64_t spot; /* of its own address: hx_spot_of */
    uint8_t address; /* see struct hx_nic */
    int wait_fd;
    int no_trywait; /* wait_fd is not the queue's own descriptor: see endpoint.c */
    int unread;     /* posted since the queue was last read: a completion may be there without a wake-up */
    struct hx_bounce_pool bounces[HX_BOUNCE_KINDS];
    struct hx_bounce *control_bounce; /* where the next control message arrives */
    int hears;                 /* a receive is posted on it */
    struct hx_socket *sockets; /* the process's connected sockets, as last found: room.c */
    size_t nsockets;
};

/* ---- one peer */
enum hx_post { HX_POST_SEND, HX_POST_RECV, HX_POSTS }; /* a write is a send */

struct hx_path { /* over one rail */
    struct hx_rail *rail;
    fi_addr_t addr;
    uint64_t spot; /* of the peer's address: hx_spot_of */
    uint64_t host; /* of its host's: hx_host_of */
    uint64_t refused_at[HX_POSTS]; /* rail->reads when the provider last said to try again later */
    int peeking;                   /* a look for early messages is under way */
    uint64_t posted;               /* number of sends so far, injected ones included */
    uint64_t tracked, ended;       /* the last send that reports its completion; the last one whose completion has come */
    uint64_t waits;                /* the last send that may wait in the provider: when it has ended, no send waits there */
    size_t room;                   /* bytes of kernel memory that the connection surely takes while nothing waits in the provider: room.c */
    size_t most;                   /* bytes that it may take at most */
    unsigned lacks_since;          /* if lacks: net->rounds when the path was first found to lack room */
    int lacks;
    int found;                     /* the path's socket is among the rail's */
};

struct hx_flow { /* long messages of a communicator's calls that come in order; kept while the communicator or the edge lives */
    uint64_t number;
    struct hx_flow *next;
    struct hx_op_queue large;    /* sends not yet wholly posted, the first under way */
    uint64_t sent, acknowledged; /* chunks sent, and told by the peer to have been received */
    uint64_t received, told;     /* chunks received, and told to the peer */
};

struct hx_proof { /* proof.c; at the head of each control message */
    uint64_t mac;      /* over everything that follows */
    uint64_t number;
    int32_t from, to; /* ranks of the job */
};

struct hx_replay_filter { /* numbers received of one kind of control message from one peer */
    uint64_t last, seen; /* the largest number; bit i: number last - i has been received too */
};

struct hx_credit { /* as it is sent */
    struct hx_proof proof;
    uint64_t flow, sum; /* sum: of the flow's chunks received */
};

struct hx_edge {
    int peer;
    int active; /* in net->active: something to retry */
    struct hx_edge *next_active;
    struct hx_op_queue recvs;    /* receives the provider has refused so far */
    int again;                   /* requests of kind AGAIN */
    uint64_t said[HX_CONTROLS];  /* control messages sent to it */
    struct hx_replay_filter heard[HX_CONTROLS];
    struct hx_op_queue eager;    /* short sends it has refused */
    struct hx_flow *flows;       /* list, the last used first */
    struct hx_bounce *credit_bounce; /* where the peer's next credit arrives; NULL until the first long send */
    int credit_listening;        /* a receive is posted on it */
    uint32_t control_messages;   /* sent and not yet gone */
    size_t write_bytes;          /* messages of as many and more are written; 0: none */
    struct hx_op_queue writes;   /* sends of which not all is written */
    struct hx_invite *invites;   /* list, in order of arrival: what could not be written yet */
    struct hx_bounce *invite_bounce; /* where the next arrives; NULL until there was something to be written */
    int invite_listening;        /* a receive is posted on it */
    uint64_t listened_at;        /* ns: when hx_edge_listens last found that it does, 0: never */
    uint8_t met;                 /* a message has passed, so there are connections */
    uint8_t lacks_room;          /* a send waits until another send has ended */
    uint8_t owes;                /* see control_message.c: it is to be told all once more */
    uint8_t moved;               /* something has come from it since it was last asked after */
    uint8_t gone;                /* it cannot be reached: as a rule its process has gone */
    uint8_t ended;               /* a device has told that its process has: it writes nothing any more */
    size_t recvs_in_flight;
    struct hx_early *early; /* list */
    size_t early_bytes;     /* in it */
    int npaths;
    struct hx_path paths[]; /* the first: for credits and invitations */
};

/* A peer from which nothing comes: liveness.c */
struct hx_late {
    struct hx_edge *edge; /* NULL: none */
    uint64_t since, seen; /* ns: when this rank first and last looked for the peer */
    uint64_t ask_at;      /* ns: when to send the next question */
    uint64_t interval;    /* ns from that question to the one after; 0: no question was sent yet */
    uint64_t answered;    /* ns: when the peer's host last gave a sign of life */
    int fd, connected;    /* a TCP connection to the peer, -1: none; 1: it is established */
};
#define HX_LATE_MAX 8

#define HX_PROOF_KEY_BYTES 16
enum hx_proof_use { HX_PROOF_CONTROL, HX_PROOF_DATA, HX_PROOF_WRITE, HX_PROOFS };

/* Which messages use the caller's memory directly? The provider may be unable to cancel such a message. */
enum hx_refers {
    HX_REFERS,           /* all: as a rule a device finishes by itself what it has begun */
    HX_REFERS_WITH_ROOM, /* long receives, and sends that the kernel takes at once: room.c */
    HX_REFERS_NEVER
};

enum hx_closing { HX_OPEN, HX_CLOSING, HX_CLOSED }; /* CLOSING: a thread closes them, and only that thread may use the domains */

struct hx_net {
    struct fi_info *info; /* the first rail's: all are of one provider */
    int nrails, nrails_told; /* told: in the address that peers have */
    int rank, nranks, seat;
    hx_status_t broken;   /* why all messages fail; HX_SUCCESS: they do not */
    hx_status_t breaking; /* why all messages are to fail as the next step; HX_SUCCESS: they are not */
    enum hx_closing closing; /* of the endpoints */
    pthread_t closer;
    int register_local; /* FI_MR_LOCAL: every buffer needs a descriptor */
    unsigned match_bits; /* of a match id */
    enum hx_refers refers;
    size_t chunk_bytes, inject_bytes, send_limit;
    size_t pieces_most; /* a chunk of more pieces goes through a bounce buffer */
    void *sink;         /* takes the excess of a message that is longer than its receive, up to the longest chunk: bounce.c. NULL: not
                         * needed, the provider survives such a message */
    size_t recv_limit; /* chunk receives posted at a time: HX_RECV_LIMIT, or less where the device takes less beside what listens */
    size_t rx_size;    /* receives that the device takes on each rail */
    size_t listens;    /* of these, the receives that are, or will be, posted for control messages, credits and invitations */
    size_t write_bytes; /* of an edge whose peer writes too; 0: the device does not */
    int links;          /* interfaces over which the ranks of this node reach others together */
    uint64_t link_bits; /* rate of each, bit/s; 0: not known */
    size_t recvs_in_flight; /* of messages */
    unsigned rounds, idle; /* progress calls; and those since the last completion */
    unsigned armed;        /* the round after which this rank was last about to sleep */
    int lacks_room;        /* a send is to be tried again once this rank is about to sleep */
    int seeks_early;       /* see unexpected.c */
    uint64_t completions;  /* of messages */
    uint64_t quiet_completions, quiet_since; /* unexpected.c: how many there were when it last looked; ns: since when there are no more */
    int unguarded;         /* there may be new connections, on which hx_sockets_guard has not set FD_CLOEXEC */
    uint64_t guarded_at, guard_ns; /* ns: when hx_sockets_guard last ran; how long until it runs again */
    uint64_t looked_at;    /* ns: when this rank last looked for strangers: strangers.c */
    int strangers, ended;  /* how many connections of strangers it found; how many of them have ended */
    int wait_fd;
    struct hx_edge **edges; /* [nranks], NULL: not connected */
    struct hx_edge *active;
    void *told; /* the address that peers have; NULL: none yet */
    struct hx_chunk *free_chunks;
    struct hx_chunk_block *chunk_blocks; /* the last made first */
    struct hx_region *regions;
    int files, connections; /* open files other than connections to peers; those connections. files 0: not counted yet; INT_MAX: no
                             * longer */
    hx_net_heard_t *heard;
    void *heard_arg;
    struct hx_late late[HX_LATE_MAX];
    uint64_t lost_ns; /* when a short message to an unknown peer was lost; 0: none was lost, or its peer is known to be gone */
    char lost_why[160]; /* the provider's code and words */
    struct hx_net_counters count;
    unsigned char keys[HX_PROOFS][HX_PROOF_KEY_BYTES];
    char text[256];
    char why[HX_DETAIL_BYTES]; /* the text for broken or breaking; "": neither is set */
    struct hx_rail rails[HX_RAILS_MAX]; /* the first choice first */
};

/* Switches for tests only; all zero in a real run. */
struct hx_fabric_test {
    int register_local; /* act as if the provider had asked for FI_MR_LOCAL */
    size_t write_bytes; /* write messages from this length on, whoever moves them */
    dev_t device;       /* take the files of this device, and of those with the next numbers, for a network device's */
};
extern struct hx_fabric_test hx_fabric_test;

/* nic.c: a provider's interfaces as this rank finds them. */
struct ifaddrs;
struct hx_nic_choice {
    int n, near;                  /* interfaces; of these, the first ones: those named, or the equally good nearest */
    struct hx_nic nics[HX_NICS_MAX];
    int nrails;
    struct fi_info *rails[HX_RAILS_MAX]; /* those that this rank uses, the first choice first */
    int addresses[HX_RAILS_MAX];         /* see struct hx_nic */
};
hx_status_t hx_nics_choose(const char *names, const struct fi_info *list, const struct fi_info *best,
                           const struct ifaddrs *interfaces, const struct hx_net_seat *seat, struct hx_nic_choice *out);
hx_status_t hx_nics_refuse(const struct fi_info *list, const char *provider, const char *nics,
                           const struct ifaddrs *interfaces);
/* The IP address in a name of that many bytes, and its length; NULL: it holds none. */
const void *hx_ip_of(const void *name, size_t bytes, size_t *length);
int hx_nic_is_named(const struct fi_info *info, const char *names); /* by HX_NIC */
void hx_nic_locate(const struct fi_info *info, struct hx_nic *nic); /* its name and PCI address */
uint32_t hx_offer_network(const struct fi_info *info);              /* see struct hx_nic */
void hx_nic_choice_free(struct hx_nic_choice *choice);

/* sockets.c: descriptors that children must not hold. */
uint64_t hx_host_of(const void *name, size_t bytes); /* a hash of a sockaddr's IP address; 0: it has none */
uint64_t hx_spot_of(const void *name, size_t bytes); /* a hash of its IP address and port; 0: it has none */
int hx_spot_is_own(const struct hx_net *net, uint64_t spot); /* is it the address of one of our endpoints? */
void hx_sockets_guard(struct hx_net *net);           /* if it is due: set FD_CLOEXEC */
void hx_sockets_leave(const struct hx_net *net);     /* in a child made by fork: close them. Calls only functions that are safe there */
/* strangers.c */
void hx_strangers_expect(const struct hx_net *net); /* prepare the listeners for strangers */
void hx_strangers_look(struct hx_net *net);         /* if it is due: look for strangers, and reset their connections */
#define HX_GUARD_NS_MIN UINT64_C(10000000) /* a search takes a tenth of a millisecond */
static inline void hx_edge_meet(struct hx_net *net, struct hx_edge *edge)
{
    if (edge->met)
        return;
    edge->met = net->unguarded = 1;
    net->guard_ns = HX_GUARD_NS_MIN;
}

/* negotiate.c: the best provider for env, and its interfaces. *out is released, whatever the status, with
 * hx_nic_choice_free. */
hx_status_t hx_negotiate(const struct hx_env *env, const struct hx_net_seat *seat, struct hx_nic_choice *out);
enum hx_offer_kind { HX_KIND_REAL, HX_KIND_BRIDGE, HX_KIND_LINK_LOCAL, HX_KIND_LOOPBACK, HX_KIND_DOWN };
enum hx_offer_kind hx_offer_kind(const struct fi_info *info, const struct ifaddrs *interfaces);
const char *hx_offer_defect(const struct fi_info *info); /* why it cannot serve, or NULL */
unsigned hx_offer_tag_bits(const struct fi_info *info);
int hx_offer_is_routed(const struct fi_info *info);      /* over IP, by the kernel */
int hx_offer_is_ipv6(const struct fi_info *info);
/* "a b c": each different name once. interface_of: NULL lists providers, else that provider's interfaces ("": any's). */
void hx_names_join(const struct fi_info *list, const char *interface_of, char *text, size_t capacity);
/* All that libfabric offers, an interface of a provider each, in its order; state: "usable", or what is the matter. */
typedef void hx_offer_visit_t(const struct fi_info *info, const char *state, void *arg);
void hx_offers_visit(hx_offer_visit_t *visit, void *arg);
/* links: of a node; rails: that one rank drives; link_bits: of each, 0 not known */
void hx_profile_cost(const struct fi_info *info, int links, int rails, double link_bits, struct hx_net_profile *out);
/* By what rank 0 has told in its address. */
void hx_address_profile(const struct hx_net *net, const void *address, size_t bytes, struct hx_net_profile *out);
size_t hx_profile_chunk_bytes(const struct fi_info *info); /* best chunk size for this provider */
int hx_provider_is_native_tcp(const struct fi_info *info);
int hx_provider_is_efa(const struct fi_info *info);

/* endpoint.c: reserve n more of the device's receives for control messages, credits and invitations */
void hx_listens_reserve(struct hx_net *net, size_t n);
int hx_any_edge_is_lost(const struct hx_net *net); /* is a peer gone? */

/* close.c: returns 1 once they are closed, 0 if that takes too long: then nothing that they use may be closed or
 * unmapped. To be called again to see whether they are by now. */
int hx_endpoints_close(struct hx_net *net);

/* address.c */
hx_status_t hx_address_get(struct hx_net *net, void *blob, size_t *bytes);
hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *blob, size_t bytes);
hx_status_t hx_address_agree(int a, const void *of_a, size_t a_bytes, int b, const void *of_b, size_t b_bytes);

/* bounce.c: slots and chunks; NULL when memory or registration is refused */
/* A first block of each kind where they are registered: with too little locked memory for it nobody need start. 0, or
 * -1 after hx_fail. */
int hx_bounce_prepare(const struct hx_net *net, struct hx_rail *rail);
int hx_sink_is_needed(const struct hx_net *net); /* does a message that is longer than its receive break the connection? */
int hx_sink_prepare(struct hx_net *net);         /* 0, or -1 after hx_fail */
struct hx_bounce *hx_bounce_alloc(const struct hx_net *net, struct hx_rail *rail, size_t bytes);
struct hx_bounce *hx_bounce_alloc_receive(const struct hx_net *net, struct hx_rail *rail, size_t bytes);
/* No receive is waited for in it, but somebody may write there. */
void hx_bounce_leave(struct hx_rail *rail, struct hx_bounce *bounce, size_t bytes);
void hx_bounce_release(struct hx_rail *rail, struct hx_bounce *bounce, size_t bytes);
struct hx_chunk *hx_chunk_alloc(struct hx_net *net);
/* A request that belongs to no message. */
struct hx_chunk *hx_control_alloc(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, struct hx_path *path);
/* Write the proof into the head of the control message, and send a copy of it. 0, or libfabric's error. */
ssize_t hx_control_send(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control, void *message,
                        size_t bytes);
/* Receive a control message into this bounce, which the edge keeps. 0, or -FI_EAGAIN. */
int hx_control_receive(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control,
                       const struct hx_bounce *bounce, size_t bytes);
void hx_chunk_release(struct hx_net *net, struct hx_chunk *chunk);
typedef void hx_chunk_visit_t(struct hx_net *net, struct hx_chunk *chunk, void *arg);
void hx_chunks_visit(struct hx_net *net, hx_chunk_visit_t *visit, void *arg); /* all that are in use */
void hx_bounce_close(struct hx_net *net);
struct hx_chunk *hx_chunk_numbered(const struct hx_net *net, uint64_t number); /* NULL: there is none */
int hx_rail_register(struct hx_rail *rail, void *base, size_t bytes, struct hx_registration *out); /* 0, or what libfabric says */
/* Copy between the message's segments at offset and flat memory. */
void hx_segments_gather(const struct hx_net_op *op, size_t offset, void *to, size_t bytes);
void hx_segments_scatter(const struct hx_net_op *op, size_t offset, const void *from, size_t bytes);
void *hx_contiguous(const struct hx_net_op *op, size_t offset, size_t bytes); /* NULL: spans segments */
/* Where these bytes are: up to `most` pieces. Returns how many; 0: they are more. */
size_t hx_segments_pieces(const struct hx_net_op *op, size_t offset, size_t bytes, struct iovec *pieces, size_t most);

/* region.c: see runtime/ports/transport.h */
void hx_region_add(struct hx_net *net, void *base, size_t bytes, enum hx_net_memory kind);
int hx_region_remove(struct hx_net *net, const void *base);
void hx_regions_close(struct hx_net *net);
/* The registration for the rail of a buffer of at most a chunk; NULL if it is in no region, or refused. */
const struct hx_registration *hx_region_find(struct hx_net *net, struct hx_rail *rail, const void *buffer, size_t bytes);

/* room.c */
int hx_net_is_tcp(const struct hx_net *net);
void hx_room_prepare(struct hx_net *net);
/* How may a message of so many bytes be sent? ALL: from the caller's memory. COPY: from a bounce buffer. A long one may have to wait: SOON:
 * try again soon; LATER: try again when a send has ended. */
enum hx_takes { HX_TAKES_SOON, HX_TAKES_LATER, HX_TAKES_COPY, HX_TAKES_ALL };
enum hx_takes hx_path_takes(const struct hx_net *net, struct hx_path *path, size_t bytes, int is_large);
void hx_path_posted(struct hx_path *path, size_t bytes, struct hx_chunk *chunk); /* chunk: NULL if the send was injected */
void hx_path_ended(struct hx_path *path, const struct hx_chunk *chunk);          /* a send has completed, or has failed */

/* Does the program leave this registered memory alone after its call has failed, until the registration is removed? */
int hx_region_is_left(const struct hx_net *net, const struct hx_registration *registration);

/* message.c */
void hx_message_post(struct hx_net *net, struct hx_net_op *op);
void hx_message_advance(struct hx_net *net, struct hx_net_op *op,
                        size_t bytes); /* bytes more are no longer in flight */
int hx_recv_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op); /* 0, or -FI_EAGAIN */
void hx_recv_wait(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op);    /* try its rest again later */
/* The message that arrived in this receive was dropped: post the receive again, now or later. */
void hx_recv_again(struct hx_net *net, struct hx_chunk *chunk);
void hx_edge_activate(struct hx_net *net, struct hx_edge *edge);
void hx_edges_retry(struct hx_net *net);
struct hx_op_queue *hx_op_queue_of(struct hx_edge *edge, const struct hx_net_op *op); /* where it waits for its turn */
void hx_op_queue_remove(struct hx_op_queue *queue, const struct hx_net_op *op);
/* A request for the chunk at offset, to be posted on these pieces: the message's own memory, or a slot. NULL: no memory now. */
struct hx_chunk *hx_chunk_make(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op, size_t offset,
                               size_t bytes, struct hx_pieces *pieces);
void hx_chunk_drop(struct hx_net *net, struct hx_chunk *chunk); /* it was not posted */
/* Not now: to be tried again once something has ended. Other errors are the message's. */
static inline int hx_is_refusal(ssize_t rc)
{
    return rc == -FI_EAGAIN || rc == -FI_ENOMEM || rc == -FI_ENOBUFS;
}
/* The provider's refusal: -FI_EAGAIN to try again, or the message has failed and 0 ends its turn. */
int hx_chunk_refused(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, ssize_t rc);

/* cancel.c */
int hx_message_cancel(struct hx_net *net, struct hx_net_op *op);
void hx_message_fail(struct hx_net *net, struct hx_net_op *op, hx_status_t status); /* done once nothing is in flight */
/* Does the peer's invitation prove that it makes a different call? theirs: the signature in the invitation; 0: none, which counts as a
 * different call. If the calls differ, the message has failed. */
int hx_message_mismatches(struct hx_net *net, struct hx_net_op *op, uint32_t theirs);
/* Let what is under way end that still uses one of n registrations. Returns 0 if it does not. */
int hx_registrations_leave(struct hx_net *net, const struct hx_registration *first, size_t n);
void hx_net_break(struct hx_net *net, hx_status_t why); /* close the endpoints: every message fails, none is touched again */

/* write.c */
int hx_writes_ask(struct hx_rail *rail); /* before it is opened. Returns whether its provider has writes */
int hx_writes_are_native(const struct hx_rail *rail); /* once it is open */
/* Have the peer write this chunk to buffer. 0, or what libfabric says. */
ssize_t hx_invite_send(struct hx_net *net, struct hx_edge *edge, const struct hx_chunk *chunk, const void *buffer);
void hx_invite_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes);
int hx_writes_continue(struct hx_net *net, struct hx_edge *edge); /* 0, or -FI_EAGAIN */
/* Invitations do not come through: do messages wait for their peer's, or for what these invite to? Then they fail. */
int hx_writes_wait(struct hx_net *net, const struct hx_edge *edge);
void hx_writes_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status);
void hx_invites_forget(struct hx_edge *edge, uint64_t match, uint64_t matches); /* matches numbers from match on */

/* unexpected.c */
void hx_early_seek(struct hx_net *net);
void hx_early_found(struct hx_net *net, struct hx_chunk *chunk, uint64_t tag, size_t bytes);
void hx_early_none(struct hx_net *net, struct hx_chunk *chunk);
void hx_early_end(struct hx_net *net, struct hx_chunk *chunk, int arrived, uint32_t data);
/* If op's next chunk is here already, receive it: 1; 0 if not; -FI_EAGAIN while it is still coming in. */
int hx_early_take(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, uint64_t tag, size_t bytes);
void hx_early_forget(struct hx_edge *edge, uint64_t match, uint64_t matches);
void hx_early_close(struct hx_edge *edge);

/* completion.c */
/* A chunk of op has arrived with a valid proof: came bytes where bytes are expected. data: where it is; NULL: in place. */
void hx_recv_arrived(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t offset, size_t bytes,
                     size_t came, const void *data);
/* This chunk has arrived, or has been written. Returns by how many chunks the gapless start of the message has grown. A window holds at
 * most 64 chunks. */
unsigned hx_op_note_chunk(struct hx_net_op *op, size_t number);
static inline int hx_op_lacks_chunk(const struct hx_net_op *op, size_t number)
{
    return number - op->in_order < 64 && !(op->ahead >> (number - op->in_order) & 1);
}
/* Does this completion data prove that the chunk at offset belongs to op? If not, the chunk is dropped: the caller posts its receive
 * again. */
int hx_recv_proves(struct hx_net *net, struct hx_net_op *op, size_t offset, uint32_t data);
int hx_progress(struct hx_net *net);
int hx_events_read(struct hx_net *net); /* 0, or -hx_status_t */

/* control_message.c; hx_control_message_send and hx_control_message_listen: see runtime/ports/transport.h */
void hx_control_message_receive(struct hx_net *net, struct hx_rail *rail); /* post the receive of the next one, or try again later: rail->hears is 0 */
void hx_control_message_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes);
void hx_control_message_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg);
void hx_control_message_send(struct hx_net *net, int peer, const struct hx_control_message *message);
int hx_control_message_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message); /* 0, also when enough are under way; or -FI_EAGAIN:
                                                                                        * try again */
int hx_control_message_continue(struct hx_net *net, struct hx_edge *edge); /* 0, or -FI_EAGAIN */

/* liveness.c; hx_late_ask: see runtime/ports/transport.h */
int hx_late_ask(struct hx_net *net, int peer, const struct hx_control_message *message);
/* A short message was lost because its peer could not be reached. The provider does not say which peer. code, why: the provider's error. */
void hx_late_lose(struct hx_net *net, int code, const char *why);
/* Over TCP: does the peer still take connections, although one has broken? Waits for up to a second. */
int hx_edge_listens(const struct hx_net *net, struct hx_edge *edge);
void hx_edge_lose(struct hx_net *net, struct hx_edge *edge); /* mark the peer as gone */
void hx_late_close(struct hx_net *net);

/* proof.c */
void hx_proofs_open(struct hx_net *net, const unsigned char key[HX_NET_KEY_BYTES]);
/* Write the proof into the head of the next control message of this kind to the peer. */
void hx_proof_write(const struct hx_net *net, const struct hx_edge *edge, enum hx_control_kind control, void *message, size_t bytes);
/* Has this control message the right kind and length (bytes; it arrived with came bytes), a valid proof and a new number? sender: the only
 * peer that may have sent it; NULL: any peer. Returns the edge of its sender; NULL: the message is dropped. */
struct hx_edge *hx_proof_check(struct hx_net *net, enum hx_control_kind control, const struct hx_edge *sender, const void *message, size_t came,
                               size_t bytes);
/* The completion data of a chunk from one rank to another; never 0. */
uint32_t hx_proof_data(const struct hx_net *net, int from, int to, uint64_t match, uint64_t chunk, uint32_t signature);
/* Encrypt the number of a request for its invitation, and decrypt it. */
uint32_t hx_number_hide(const struct hx_net *net, uint32_t number);
uint32_t hx_number_show(const struct hx_net *net, uint32_t hidden);
void hx_forged(struct hx_net *net, const char *what, int claimed); /* count it, and tell once. what: "a control message"; claimed: the rank it names,
                                                                    * -1: none */

/* credit.c */
struct hx_flow *hx_flow_of(struct hx_edge *edge, uint64_t number);            /* NULL: no memory */
int hx_credit_listen(struct hx_net *net, struct hx_edge *edge);               /* before a large send: 0, or -FI_EAGAIN */
void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge, size_t bytes);
int hx_credit_tell(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow); /* 0, or -FI_EAGAIN */
ssize_t hx_credit_inject(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, struct hx_credit *credit);
void hx_credits_tell_again(struct hx_net *net, struct hx_edge *edge);               /* one was lost */
int hx_flows_wait(const struct hx_edge *edge); /* does anything wait for a credit? */
void hx_flows_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status); /* all that does */
void hx_flows_close(struct hx_edge *edge);
void hx_forget(struct hx_net *net, int peer, uint64_t flow, uint64_t flows, uint64_t match, uint64_t matches); /* see runtime/ports/transport.h */

static inline uint64_t hx_control_tag(enum hx_control_kind control)
{
    return HX_CREDIT_TAG | control;
}

static inline int hx_match_is_credit(uint64_t match)
{
    return (match & HX_CREDIT_MATCH) == HX_CREDIT_MATCH;
}

/* op->state: the status a message has failed with, or 0; and whether it is in its edge's queue of receives. */
#define HX_OP_QUEUED ((uintptr_t)0x100)

static inline int hx_op_status(const struct hx_net_op *op)
{
    return (int)((uintptr_t)op->state & 0xff);
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

/* What is posted for a chunk of it: to have one written, an invitation is sent. */
static inline enum hx_post hx_op_post(const struct hx_net_op *op)
{
    return op->direction == HX_NET_RECV && !op->written ? HX_POST_RECV : HX_POST_SEND;
}

/* Nothing that was refused can be taken before the completion queue has been read: only that makes progress. Sends and receives are
 * refused apart: receives that fill the device may end by this peer's next send only. */
static inline int hx_path_is_refused(const struct hx_path *path, enum hx_post post)
{
    return path->refused_at[post] == path->rail->reads;
}
static inline void hx_path_refuse(struct hx_path *path, enum hx_post post)
{
    path->refused_at[post] = path->rail->reads;
}

/* Half a grant has been received since the peer was last told. */
static inline int hx_credit_is_due(const struct hx_edge *edge, const struct hx_flow *flow)
{
    return flow->received - flow->told >= (uint64_t)(HX_GRANT / 2 * edge->npaths);
}

_Static_assert(HX_GRANT * HX_RAILS_MAX <= 1 << HX_CHUNK_BITS && HX_RECV_WINDOW * HX_RAILS_MAX <= 1 << HX_CHUNK_BITS,
               "chunks under way have different numbers");
#endif
