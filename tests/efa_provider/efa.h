/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libfabric provider that names itself efa, for machines without EFA: it enforces EFA's contract (rules.def) by an
 * abort with one line, and behaves as EFA does on a bad day (worst.def). One machine only: endpoints are datagram
 * sockets, so nothing is ordered, timed or buffered but by what is written here.
 *
 *   fabric, events, domain     provider.c      what is offered
 *   device                     nic.c           what an offer says of it
 *   registrations              memory.c        descriptors; the pages behind them, as the device pins them
 *   completion queue           queue.c
 *   addresses, endpoint        endpoint.c      posts, and their refusal; contract.c: their checks
 *   wire                       wire.c          what a device does by itself, whenever the completion queue is read
 */
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define EFA_NAME_BYTES 32 /* of an address, as on the device */
#define EFA_TAG_FORMAT 0x0000aaaaaaaaaaaaULL /* 48 bits: less than the device has, all that a program may count on */
#define EFA_TAG_BITS 48
#define EFA_IOV_LIMIT 2
#define EFA_INJECT_BYTES 32 /* EFA_INJECT */
#define EFA_PACKET_BYTES 8192
#define EFA_MEDIUM_BYTES 65536 /* up to this length a message is sent in packets at once, and copied into its receive */
#define EFA_TX_SIZE 256 /* EFA_SENDS */
#define EFA_RX_SIZE 8192 /* EFA_RECEIVES */
#define EFA_MESSAGE_BYTES ((size_t)1 << 30)

#define container(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

struct efa_fabric {
    struct fid_fabric fid;
    int users; /* here and below: what is open and uses this */
};

struct efa_eq {
    struct fid_eq fid;
    struct efa_fabric *fabric;
    int users, error; /* error: a device code to report, or 0 */
};

struct efa_domain {
    struct fid_domain fid;
    struct efa_fabric *fabric;
    int users;
    atomic_int busy; /* a thread is inside */
    struct efa_mr *mrs;
    uintptr_t last_serial;
};

struct efa_pages; /* memory.c */

struct efa_mr {
    struct fid_mr fid; /* mem_desc: a number that is never used again */
    struct efa_domain *domain;
    struct efa_mr *next;
    uint8_t *base;
    size_t bytes;
    uint64_t access;
    int users;
    struct efa_pages *pages; /* NULL: cannot be pinned here */
};

enum efa_kind { EFA_SEND, EFA_RECV, EFA_WRITE, EFA_WRITTEN }; /* WRITTEN: by a peer; a completion only */

struct efa_target { /* of a write; of a send the data alone */
    uint64_t address, key, data, has_data;
};

struct efa_op { /* from its post until its completion has been read */
    struct efa_op *next;
    enum efa_kind kind;
    void *context; /* NULL: injected; no completion, unless it fails */
    struct iovec iov[EFA_IOV_LIMIT];
    struct efa_mr *mr[EFA_IOV_LIMIT];
    size_t count, bytes;
    size_t sent_bytes; /* of a send: bytes as it was posted */
    struct efa_peer *peer; /* NULL: any */
    uint64_t tag, ignore, id;
    struct efa_target target;
    uint32_t number; /* of a message, among those to its peer */
    int tagged, sent, acked; /* sent: wholly */
    size_t pushed;           /* bytes that the device has read */
    double due;              /* not read or, once it is acknowledged, not told before */
    int err, prov_errno;
    int fails, lost;         /* fails: with this device code; lost: behind a hole, EFA_ERROR=once */
    uint8_t *copy; /* of what was injected */
};

struct efa_list {
    struct efa_op *head, **tail;
};

struct efa_peer {
    char name[EFA_NAME_BYTES];
    int greeted, welcome, fails; /* handshake; fails: a device code for all sends from now on */
    int hole; /* it receives no message that is sent from now on */
    uint32_t messages; /* numbered so far: what the peer puts in order by */
    double not_ready_until;
    uint64_t refused[2]; /* of sends and writes, of receives: how often the queue had been read at the last -FI_EAGAIN, plus 1 */
};

struct efa_av {
    struct fid_av fid;
    struct efa_domain *domain;
    int users;
    struct efa_peer **peers;
    size_t count;
};

struct efa_cq {
    struct fid_cq fid;
    struct efa_domain *domain;
    int users;
    size_t size, unread;
    size_t written; /* of those unread: writes of peers */
    uint64_t reads;
    int wait_fd, wait_event;   /* -1: it has no wait object; what makes it readable, beside the sockets of endpoints */
    int has_event, has_signal; /* why wait_event is readable: queue.c */
    struct efa_list done;
    struct efa_ep *eps;
};

struct efa_arrival {
    struct efa_arrival *next;
    char from[EFA_NAME_BYTES];
    uint64_t id, tag, tagged, is_write;
    struct efa_target target;
    uint32_t number;            /* see efa_op */
    int beyond;                 /* it came beyond the reorder window, and waits for that to move */
    int unexpected;             /* it came before its receive */
    size_t bytes, came, placed; /* placed: into the target, of its end */
    double due;                 /* when the rest is */
    uint8_t data[];
};

struct efa_control;
struct efa_source; /* wire.c */

struct efa_ep {
    struct fid_ep fid;
    struct efa_ep *next; /* of the completion queue's */
    struct efa_domain *domain;
    struct efa_cq *cq;
    struct efa_av *av;
    struct efa_eq *eq;
    int enabled, socket, rma, homogeneous;
    char name[EFA_NAME_BYTES];
    struct efa_list sends, recvs;
    size_t tx_size, rx_size, inject_bytes;
    size_t nsends, ninjects, nrecvs; /* under way */
    size_t npackets;                 /* of sends that have not left: the device takes tx_size */
    uint64_t last_id, posts, injected; /* posts: sends and writes; injected: those of them without a completion */
    uint64_t refused; /* receives from any peer: see efa_peer */
    struct efa_arrival *arrivals;
    struct efa_control *controls;
    struct efa_source *sources;
    size_t beyond;             /* messages that came beyond the reorder window */
    size_t unexpected, copied; /* messages that came before their receive, and their bytes: libfabric keeps a copy */
};

/* ---- contract.c */
struct efa_request { /* a post */
    enum efa_kind kind;
    int tagged, inject;
    const struct iovec *iov;
    void **desc;
    size_t count;
    fi_addr_t addr;
    uint64_t tag, ignore;
    void *context;
    struct efa_target target;
};
void efa_request_check(struct efa_ep *ep, const struct efa_request *r);
size_t efa_request_bytes(const struct efa_request *r);
static inline size_t efa_packets(size_t bytes) /* one of up to 8 KiB; a medium message has up to eight */
{
    return bytes == 0 ? 1 : (bytes + EFA_PACKET_BYTES - 1) / EFA_PACKET_BYTES;
}
int efa_needs_descriptor(const struct efa_request *r, size_t piece);
uint64_t *efa_refused_at(struct efa_ep *ep, const struct efa_request *r); /* see efa_peer */

/* ---- worst.c: what is switched on, and the dice */
enum efa_worst {
#define WORST(name, text) WORST_##name,
#include "worst.def"
#undef WORST
    WORST_COUNT
};
enum efa_rule {
#define RULE(name, text) RULE_##name,
#include "rules.def"
#undef RULE
    RULE_COUNT
};
void efa_worst_start(void);                            /* read the environment, once */
int efa_worst(enum efa_worst worst, unsigned percent); /* it is switched on, and the dice say so */
unsigned efa_dice(unsigned n);                         /* 0 .. n - 1 */
size_t efa_setting(const char *name, size_t otherwise); /* of the environment: a number, or what it is where it is not set */
/* EFA_REFUSES=what: is that what cannot be opened? fabric, domain, endpoint: permission is denied. events, bind: there are no event
 * queues, and the call that opens one, or that binds it, says so. */
int efa_refuses(const char *what);
/* The provider is named efa. A copy of its file as libcxi-fi.so is a second provider, named cxi, and CXI_REFUSES is for that one. */
extern char efa_name[16];
/* The version of libfabric whose EFA provider this one is: EFA_VERSION=2.6, by default the version that is in use. */
uint32_t efa_version(void);
int efa_error_due(uint64_t sends, int *once); /* EFA_ERROR's code if it is due with this send, or 0; < 0: event queue */
void efa_breach(enum efa_rule rule, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void efa_enter(struct efa_domain *domain); /* rule threads: around everything that touches a domain */
void efa_leave(struct efa_domain *domain);

int efa_pair_take(size_t packets); /* returns 0, or -FI_ENOMEM if no queue pair is left */
void efa_count(const char *what, size_t bytes); /* a line for EFA_COUNT */

/* ---- nic.c: the device with this number */
struct fid_nic *efa_nic_make(int number);
void efa_source_set(struct fi_info *info, int number);

/* ---- memory.c */
extern struct fi_ops_mr efa_mr_ops;
/* Where a peer's write goes. */
uint8_t *efa_mr_target(struct efa_domain *domain, const struct efa_target *target, size_t bytes);
struct efa_mr *efa_mr_check(struct efa_domain *domain, const struct iovec *piece, void *desc, enum efa_kind kind);
void efa_mr_read(const struct efa_mr *mr, const uint8_t *from, uint8_t *to, size_t bytes); /* as the device reads */

void efa_mr_count(void); /* for EFA_COUNT */

/* ---- queue.c */
int efa_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int efa_cq_trywait(struct efa_cq *cq);
void efa_cq_watch(struct efa_cq *cq, int socket); /* an event of the device wakes the ranks that wait for the queue */
void efa_cq_event(struct efa_cq *cq);             /* something has come */
int efa_code_error(int code); /* libfabric's error for a device code, as efa_errno.h has it */
/* An operation that is in no list any more has ended; err 0: well. Takes op. */
void efa_op_end(struct efa_ep *ep, struct efa_op *op, int err, int prov_errno);
void efa_written(struct efa_ep *ep, const struct efa_target *target, size_t bytes); /* a peer's write is wholly there */
void efa_op_free(struct efa_ep *ep, struct efa_op *op);
void efa_context_mark(const struct efa_op *op); /* from its post on it is the provider's */
void efa_list_add(struct efa_list *list, struct efa_op *op);
struct efa_op *efa_list_take(struct efa_list *list, struct efa_op **at); /* *at: the link to it */

/* ---- endpoint.c */
int efa_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
int efa_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

/* ---- wire.c */
void efa_window_set(void); /* as libfabric loads the provider: later changes of the environment have no effect */
int efa_wire_open(struct efa_ep *ep); /* 0, or -errno */
void efa_wire_close(struct efa_ep *ep);
void efa_wire_greet(struct efa_ep *ep, struct efa_peer *peer);
void efa_wire_progress(struct efa_ep *ep);
