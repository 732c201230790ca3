/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of this folder: the messages of the handshake (join.c), the node's socket, and the acceptor. */
#pragma once

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/ports/ports.h"
#include <sys/types.h>

/* ---- join.c: messages and proofs */

#define HX_HELLO_MAGIC 0x48786a32u /* "Hxj2" */
#define HX_NONCE_BYTES 16
#define HX_GUEST_PROOF_BYTES 16

/* The input of the proofs of a guest and its host: the nonces that they have sent each other. */
struct hx_meeting {
    int32_t rank; /* of the guest */
    unsigned char guest_nonce[HX_NONCE_BYTES], host_nonce[HX_NONCE_BYTES];
};

struct hx_hello {
    uint32_t magic;
    int32_t rank, pid, unused;
    uint64_t pid_space;
    unsigned char nonce[HX_NONCE_BYTES], proof[HX_GUEST_PROOF_BYTES]; /* the proof covers a meeting in which host_nonce is still 0 */
};

struct hx_challenge {
    uint32_t magic;
    unsigned char nonce[HX_NONCE_BYTES];
};

struct hx_welcome {
    uint32_t magic;
    int32_t n, me;
    uint64_t bytes;
    unsigned char proof[HX_GUEST_PROOF_BYTES];
    struct hx_failure failure; /* why the host could not create the segment */
    int32_t ranks[];           /* [n] */
};

/* use: "hello", "guest" or "host", so that no proof can stand for another. */
void hx_meeting_prove(const unsigned char *secret, const char *use, const struct hx_meeting *meeting,
                      unsigned char proof[HX_GUEST_PROOF_BYTES]);
int hx_meeting_is_proved(const unsigned char *secret, const char *use, const struct hx_meeting *meeting,
                         const unsigned char proof[HX_GUEST_PROOF_BYTES]);
hx_status_t hx_nonce_draw(unsigned char nonce[HX_NONCE_BYTES]);
uint64_t hx_pid_space(void); /* the pid namespace of this process; 0: unknown */

/* ---- host.c */

struct hx_acceptor;

/* Be the host at listener. wake_fd: this rank's eventfd. has: called once this rank has the segment. */
hx_status_t hx_node_host(struct hx_acceptor *acceptor, int listener, int wake_fd, const unsigned char *secret, const struct hx_job *job,
                         int rank, int size, double timeout, void (*has)(struct hx_shared *), struct hx_shared *shared);

/* ---- acceptor.c */

/* Start to accept connections at listener, for a job of size ranks. NULL: no memory; then connections stay in the kernel's
 * queue. */
struct hx_acceptor *hx_acceptor_open(int listener, int size);
/* After the fence: the next connection, of those kept and of those in the kernel's queue. -1 and errno; EAGAIN: no more. */
int hx_acceptor_next(struct hx_acceptor *acceptor, int listener);
/* Close the connections that are left, and free the acceptor. */
void hx_acceptor_close(struct hx_acceptor *acceptor);

/* ---- socket.c: the abstract Unix socket of a node, and messages with descriptors */

#define HX_PUBLIC_BYTES 8 /* of the job's random bytes: the name of the socket. The others stay secret */
#define HX_SOCKET_FDS 200 /* descriptors in one message; the kernel allows 253 */

/* Bind the name of this job's (emulated) node and listen (*hosting 1), or connect to the process that has bound it (*hosting 0).
 * timeout: how many seconds that process's queue may stay full; 0: for ever. Returns the socket, or -1 after hx_fail. A listener
 * does not block. */
int hx_socket_meet(const unsigned char *secret, int emulated, double timeout, int *hosting);
int hx_socket_same_user(int s); /* does the process at the other end run as this user? */
/* 0, or -1. */
int hx_socket_send(int s, const void *data, size_t bytes, const int *fds, int nfds);
/* Returns the bytes received; -1 on error or after timeout seconds (0: wait for ever; negative: do not wait). *nfds in: capacity of
 * fds; out: how many arrived; NULL: none are taken. Further ones are closed. errno is EMFILE if some are missing. */
ssize_t hx_socket_receive(int s, void *data, size_t capacity, int *fds, int *nfds, double timeout);
