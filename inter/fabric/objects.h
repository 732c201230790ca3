/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of inter/fabric, behind runtime/ports/transport.h.
 *
 *   net  --has-->  edges, one per peer  --queue-->  messages (hx_net_op)  --cut into-->  chunks (requests)
 *     |                    |     `--has-->  flows  --queue-->  long messages
 *     |                    `-------has-->  paths, one per rail that both ends have; a long message uses all of them
 *     `--has-->  rails, each with an endpoint  <--over-- path
 *                one per interface in use; over TCP HX_RAILS per interface
 *
 * A tag is match << 6 | chunk number modulo 64, at least 48 bits. FI_DIRECTED_RECV matches the source.
 *
 * A message of more than HX_EAGER_BYTES pays one credit of its flow for each chunk: credit.c. A receiver counts the chunks of a
 * message only up to the first missing one. So no two chunks in flight have the same number modulo 64. If both devices can write
 * into remote memory, long messages use remote writes and pay no credits: write.c.
 */
#pragma once

#include "inter/fabric/provider.h"
#include "runtime/base/error.h"
#include <pthread.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define HX_CREDIT_MATCH ((UINT64_C(1) << HX_UNUSED_MATCH_BITS) - 1)
#define HX_CREDIT_TAG (HX_CREDIT_MATCH << HX_CHUNK_BITS) /* plus enum hx_control_kind: the tags of control messages */
#define HX_GRANT 16           /* chunks that a flow may have in flight for each path, up to HX_IN_FLIGHT_MOST in all */
#define HX_RECV_WINDOW 16     /* likewise: chunk receives of one message posted at a time */
#define HX_IN_FLIGHT_MOST (1 << HX_CHUNK_BITS) /* chunks in flight have different numbers */
#define HX_RECV_LIMIT 4096    /* most chunk receives posted at a time: the completion queue of each rail has room for them */
#define HX_SEND_LIMIT 1024    /* upper bound of tx_attr->size */
#define HX_STRIPE_BYTES 16384 /* see struct hx_edge: for each path, if the provider's row has no length */
#define HX_INJECT_LIMIT 256   /* upper bound of tx_attr->inject_size */

/* ---- bounce buffers: memory of the endpoint, registered once if the provider needs registration */
struct hx_registration {
    struct fid_mr *mr; /* NULL: none */
    uint8_t *base;
    size_t bytes;
};

struct hx_bounce {
    void *base;
    const struct hx_registration *registration;
    struct hx_bounce *next;
    struct hx_bounce_pool *pool;
    int receives; /* 1: counted in receives of its pool */
};

struct hx_bounce_block;

struct hx_bounce_pool {
    size_t bounce_bytes, block_bounces;
    size_t bounces, receives; /* all; those of posted receives */
    int is_full;              /* the pool could not grow */
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
    HX_CHUNK_REPOST,       /* a receive to post again, because the arrived message was dropped */
    HX_CHUNK_TARGET,       /* memory of several chunks that the peer is invited to write: nothing is posted */
    HX_CHUNK_SEND_CONTROL,
    HX_CHUNK_RECV_CONTROL,
    HX_CHUNK_PEEK,         /* looks for unexpected messages */
    HX_CHUNK_UNEXPECTED,   /* receives one that was found */
    HX_CHUNK_FAILED_SEND   /* never reused: the provider may report this send again */
};

struct hx_unexpected; /* unexpected.c */

#define HX_PIECES 4 /* segments that one chunk may use without a copy. Providers take this many, or only one */

struct hx_pieces {
    struct iovec at[HX_PIECES + 1]; /* one more for the sink */
    size_t n;
};

struct hx_chunk {
    struct fi_context2 context; /* first: libfabric returns this address */
    struct hx_net_op *op;       /* NULL once the message was cancelled or has failed */
    struct hx_edge *edge;
    struct hx_path *path;
    struct hx_bounce *bounce;   /* NULL: the request uses the caller's memory */
    const struct hx_registration *registration; /* of the memory in use; NULL: none is needed */
    struct hx_unexpected *unexpected;
    struct hx_mailbox *mailbox; /* RECV_CONTROL */
    size_t offset, bytes;       /* within the message */
    uint64_t order;             /* of a send: its number on its path */
    uint64_t tag;
    enum hx_chunk_kind kind;
    enum hx_control_kind control; /* SEND_CONTROL, RECV_CONTROL */
    uint32_t left;              /* RECV, REPOST: 1; TARGET: writes that have not arrived */
    uint32_t number;            /* among all chunks of the endpoint: the immediate data of a remote write */
    struct hx_chunk *next;      /* free list */
};

struct hx_chunk_block;
struct hx_region; /* region.c */
struct hx_invite; /* write.c */
struct hx_socket; /* tcp_space.c */

struct hx_op_queue {
    struct hx_net_op *head, *tail;
};

#define HX_INVITE_RECVS 4 /* receives for invitations of one peer. It sends one for each message that this rank is to write */

struct hx_mailbox { /* receives control messages of one kind, one after the other */
    struct hx_bounce *bounce; /* NULL until the first receive */
    int posted;               /* a receive is posted on it */
};

/* ---- one endpoint of an interface */
struct hx_rail {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq; /* NULL: the provider has none: rail.c */
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    size_t sends_in_flight;
    uint64_t next_key;
    uint64_t reads;        /* of the completion queue, plus 1 */
    uint64_t address_hash; /* of its own address: hx_address_hash */
    uint8_t address;       /* see struct hx_nic */
    uint8_t copy;          /* which endpoint of its interface, from 0 */
    int wait_fd;
    struct hx_refusal refusal; /* why it could not be opened */
    int no_trywait; /* wait_fd is not the queue's own descriptor: rail.c */
    int unread;     /* something was posted since the last read: a completion may be there without a wake-up */
    int lacks_write_room; /* its queue has no room for completions of peers' writes */
    struct hx_bounce_pool bounces[HX_BOUNCE_KINDS];
    struct hx_mailbox mailbox; /* for control messages of any peer */
};

/* ---- one peer */
enum hx_post { HX_POST_SEND, HX_POST_RECV, HX_POSTS }; /* a write counts as a send */

struct hx_path { /* to the peer over one rail */
    struct hx_rail *rail;
    fi_addr_t addr;
    uint64_t address_hash; /* of the peer's address */
    uint64_t host_hash;    /* of its host's address */
    uint64_t refused_at[HX_POSTS]; /* rail->reads when the provider last returned "try again" */
    int peeking;                   /* an HX_CHUNK_PEEK is posted */
    uint64_t posted;               /* number of sends so far, injected ones included */
    uint64_t tracked, ended;       /* the last send that reports a completion; the last one whose completion has arrived */
    uint64_t waits;                /* the last send that may wait in the provider. Once it has ended, no send waits there */
    size_t space;                  /* bytes of kernel memory that the connection certainly takes now: tcp_space.c */
    size_t most_space;             /* bytes that it may take */
    unsigned lacks_since;          /* if lacks_space: net->rounds when the path was first found without space */
    int lacks_space;
    int found;                     /* the path's socket is among those of the net */
};

struct hx_flow { /* long messages of calls that come in order. Kept while the communicator or the edge lives */
    uint64_t number;
    struct hx_flow *next;
    struct hx_op_queue large;    /* sends not completely posted; the first is in progress */
    uint64_t sent, acknowledged; /* chunks sent, and those that the peer has reported as received */
    uint64_t received, reported; /* chunks received, and those reported to the peer */
};

struct hx_proof { /* proof.c; at the head of each control message */
    uint64_t mac;     /* covers everything that follows */
    uint64_t number;
    int32_t from, to; /* ranks of the job */
};

struct hx_replay_filter { /* numbers received of one kind of control message from one peer */
    uint64_t last, seen; /* the largest number; bit i: number last - i was received too */
};

struct hx_packet { /* as it is sent */
    struct hx_proof proof;
    union {
        struct hx_credit {
            uint64_t flow, sum; /* sum: chunks of the flow received so far */
        } credit;
        struct hx_invitation {
            uint64_t match, total_bytes;
            uint64_t address, key;
            uint32_t chunk, chunks; /* the first chunk of the message, and how many from it on */
            uint32_t number; /* of the receiver's request, encrypted. Each write returns it, as a proof of its invitation */
            uint32_t signature; /* of the receiver's call */
        } invitation;
        struct hx_control_message message;
    };
};

struct hx_edge {
    int peer;
    int active; /* in net->active: something must be retried */
    struct hx_edge *next_active;
    struct hx_op_queue recvs;    /* receives that the provider has refused */
    int reposts;                 /* requests of kind REPOST */
    uint64_t control_sent[HX_CONTROLS]; /* control messages sent to the peer */
    struct hx_replay_filter replay[HX_CONTROLS];
    struct hx_op_queue eager;    /* short sends that the provider has refused */
    struct hx_flow *flows;       /* list, the last used first */
    struct hx_mailbox credits, *invitations; /* invitations: [invite_recvs]; NULL until the first receive */
    int invite_recvs;
    uint32_t control_messages;   /* sends of kind HX_CONTROL_MESSAGE in flight */
    size_t write_bytes;          /* messages of at least this many bytes use remote writes; 0: none */
    size_t stripe_bytes;         /* messages of at least this many bytes use all paths, shorter ones a single path */
    struct hx_op_queue writes;   /* sends not completely written */
    struct hx_invite *invites;   /* list, in order of arrival: those that wait for their message */
    uint64_t accepted_at;        /* ns: when hx_edge_accepts last found that the peer accepts connections; 0: never */
    uint8_t has_traffic;         /* a message has passed, so there are connections */
    uint8_t waits_for_send;      /* a send waits until another send has ended */
    uint8_t must_resend;         /* a control message could not be sent: control_message.c */
    uint8_t has_arrivals;        /* something has arrived from the peer since the last liveness check, or since it is gone */
    uint8_t gone;                /* the peer is unreachable: as a rule its process has ended */
    uint8_t silent;              /* gone, because its host does not answer */
    uint8_t doubted;             /* another rank cannot reach the peer; this rank checks it */
    uint8_t refuses;             /* the kernel of the peer's host has refused a connection: the peer's endpoint is closed */
    uint8_t process_ended;       /* the device reports that the peer's process has ended: it writes nothing any more */
    size_t recvs_in_flight;
    struct hx_unexpected *unexpected; /* list */
    size_t unexpected_bytes;
    int npaths;
    struct hx_path paths[]; /* the first one also carries credits and invitations */
};

/* A peer from which nothing arrives: dead_peer.c */
struct hx_late_peer {
    struct hx_edge *edge; /* NULL: unused */
    uint64_t since, seen; /* ns: when this rank first and last checked this peer */
    uint64_t ask_at;      /* ns: when to send the next question */
    uint64_t interval;    /* ns from that question to the one after; 0: no question was sent yet */
    uint64_t answered;    /* ns: when the peer's host last answered */
    int fd, connected;    /* a TCP connection to the peer, -1: none; 1: it is established */
};
#define HX_LATE_PEERS_MAX 8

/* A peer that is not connected yet: meeting.c */
struct hx_meeting {
    int peer;
    struct hx_meeting *next;
    struct hx_edge *edge;   /* NULL: its address is not known yet */
    struct hx_op_queue ops; /* messages to and from it */
    int must_tell;          /* once it is connected, the runtime sends its control messages again */
    int told, heard;        /* this rank's address was sent to the peer; the peer has sent something, so it has connected to this rank */
    uint64_t ask_at, interval; /* ns: the time of the next question, and from it to the one after */
    unsigned turn;          /* questions so far */
};

#define HX_PROOF_KEY_BYTES 16
enum hx_proof_use { HX_PROOF_CONTROL, HX_PROOF_DATA, HX_PROOF_WRITE, HX_PROOFS };

enum hx_closing { HX_OPEN, HX_CLOSING, HX_CLOSED }; /* CLOSING: only the closing thread may use the domains */

struct hx_net {
    struct fi_info *info; /* of the first rail: all rails have the same provider */
    const struct hx_provider_traits *traits;
    int is_open;          /* 1: the endpoints are open */
    int unmet;            /* 1: there are meetings, or the endpoints are not open yet */
    struct hx_meeting *meetings;
    struct hx_net_directory directory; /* find NULL: there is none */
    const struct hx_env *env;
    struct hx_net_seat whole_seat;
    int with_endpoints;   /* ranks of this node with endpoints, this one included */
    const struct hx_net_refusals *not_tried; /* providers that hx_net_open_now does not try */
    uint32_t refused; /* providers that some rank could not open, a bit for each */
    struct hx_refusal refusal; /* the first that this rank could not open itself */
    int nrails, nrails_published; /* published: in the address that peers have */
    int rank, nranks, seat;
    hx_status_t broken;   /* why all messages fail; HX_SUCCESS: they do not */
    hx_status_t breaking; /* why hx_net_progress is about to break the endpoint; HX_SUCCESS: it is not */
    enum hx_closing closing; /* of the endpoints */
    pthread_t closer;
    int register_local; /* FI_MR_LOCAL: every buffer needs a descriptor */
    unsigned match_bits; /* of a match id */
    enum hx_direct direct; /* of the traits, or NEVER: tcp_space.c */
    size_t chunk_bytes, inject_bytes, send_limit;
    size_t pieces_most; /* a chunk of more pieces uses a bounce buffer */
    void *sink;         /* takes the excess of a message that is longer than its receive: bounce.c. NULL: not needed */
    size_t recv_limit;  /* chunk receives posted at a time: HX_RECV_LIMIT, or less if the device takes fewer */
    size_t rx_size;     /* receives that the device takes on each rail */
    size_t reserved_recvs; /* of these: reserved for control messages, credits and invitations */
    size_t write_bytes; /* see struct hx_edge; 0: the device has no remote writes */
    int links;          /* interfaces that the ranks of this node use together */
    uint64_t link_bits; /* rate of each, bit/s; 0: unknown */
    size_t recvs_in_flight; /* of messages */
    unsigned rounds, idle; /* calls of hx_net_progress; and those since the last completion */
    unsigned armed;        /* the round after which this rank was last about to sleep */
    int retry_before_sleep; /* a send must be retried when this rank is about to sleep */
    int peeks_unexpected;  /* the provider needs unexpected.c */
    int untagged_messages; /* control messages have no tag: control_message.c */
    uint64_t all_looked_at; /* ns: when the current interval of unexpected.c began; 0: not yet */
    int unguarded;         /* there may be new connections, on which hx_sockets_guard has not set FD_CLOEXEC */
    uint64_t guarded_at, guard_ns; /* ns: when hx_sockets_guard last ran; how long until it runs again */
    uint64_t looked_at;    /* ns: when hx_strangers_check last ran */
    int strangers, ended;  /* connections of strangers that it found; how many of them have ended */
    int wait_fd;
    struct hx_edge **edges; /* [nranks], NULL: not connected */
    struct hx_edge *active;
    void *own_address; /* as peers have it; NULL: none yet */
    struct hx_chunk *free_chunks;
    struct hx_chunk_block *chunk_blocks; /* the newest first */
    struct hx_region *regions;
    struct hx_socket *sockets; /* connected sockets of the process, as last found: tcp_space.c */
    size_t nsockets;
    int files, connections; /* files: open ones, without connections to peers; 0: not counted yet, INT_MAX: no longer counted */
    hx_net_heard_t *heard;
    void *heard_arg;
    struct hx_late_peer late_peers[HX_LATE_PEERS_MAX];
    uint64_t silent_ns; /* a host that does not answer for so long is gone */
    uint64_t lost_ns; /* when a short message to an unknown peer was lost; 0: none was lost, or its peer is known to be gone */
    char lost_why[160]; /* the provider's code and text */
    struct hx_net_counters count;
    char provider[20]; /* of all ranks, from rank 0's address */
    unsigned char keys[HX_PROOFS][HX_PROOF_KEY_BYTES];
    char text[256];
    char why[HX_DETAIL_BYTES]; /* the text for broken or breaking; "": neither is set */
    struct hx_rail rails[HX_RAILS_MAX]; /* the first choice first */
};

/* One endpoint of a rank, as its address describes it. */
struct hx_rail_address {
    uint32_t network; /* see struct hx_nic */
    uint16_t name_bytes;
    uint8_t interface; /* entries with the same number are addresses of one endpoint. A peer uses one of them */
    uint8_t address;   /* see struct hx_nic */
    uint8_t name[];    /* as fi_getname returned it */
};

/* One end of the paths between two ranks. */
struct hx_path_end {
    const struct hx_rail_address *rails[HX_RAILS_MAX];
    int n;
    uint32_t seat; /* struct hx_net_seat */
    uint64_t host; /* hx_topo_network_id */
};

_Static_assert(HX_IN_FLIGHT_MOST <= 64, "struct hx_net_op has 64 bits for chunks that have arrived ahead");
_Static_assert(HX_RAILS_MAX <= 32, "hx_paths_make has 32 bits for them");
