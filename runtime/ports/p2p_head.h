/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a record of a message between two ranks: see runtime/engine/p2p.h. It travels in shared memory and in control messages. */
#pragma once

#include <stdint.h>

enum hx_p2p_kind {
    HX_P2P_EAGER = 1, /* a message, and its first bytes */
    HX_P2P_READY,     /* a message whose bytes wait for CLEAR or DONE */
    HX_P2P_CLEAR,     /* the receive of message id is ready for its bytes */
    HX_P2P_DATA,      /* more bytes of message id */
    HX_P2P_DONE,      /* message id needs no bytes any more: the receiver has read them, or does not want them */
    HX_P2P_CREDITS    /* between nodes: only tells freed and taken; it has no sequence number */
};

struct hx_p2p_head {
    int32_t kind;        /* enum hx_p2p_kind */
    int32_t tag;         /* EAGER, READY */
    uint32_t number, generation; /* EAGER, READY: of the communicator, see struct hx_comm_id */
    int32_t dtype;       /* EAGER, READY: code of its signature */
    uint32_t here_bytes; /* bytes of the message that come with this record */
    uint64_t id;         /* of the message: its sender counts */
    uint64_t bytes;      /* EAGER, READY: of the message */
    uint64_t address;    /* READY: where the receiver may read it, or 0. EAGER of another node: the match id of its bytes; READY: likewise */
};
