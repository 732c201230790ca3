# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/engine/adapt.c runtime/engine/agree.c runtime/engine/agree.h runtime/engine/agree_gone.c runtime/engine/agree_part.c \
    runtime/engine/agree_state.h runtime/engine/agree_rules.c runtime/engine/awaited.c runtime/engine/awaited.h runtime/engine/bind.c runtime/engine/bind_pair_counts.c \
    runtime/engine/bind_step.c runtime/engine/call_key.h runtime/engine/crossing.c runtime/engine/data.c \
    runtime/engine/engine.c runtime/engine/engine.h runtime/engine/failure.c runtime/engine/failure.h \
    runtime/engine/fetch.c runtime/engine/fetch_ask.c runtime/engine/fetch.h runtime/engine/flags.h \
    runtime/engine/liveness.c runtime/engine/liveness.h runtime/engine/members.h runtime/engine/p2p.c runtime/engine/p2p.h \
    runtime/engine/p2p_match.c runtime/engine/p2p_net.c runtime/engine/p2p_ring.c runtime/engine/pairs.c runtime/engine/pairs.h \
    runtime/engine/peer_map.c runtime/engine/process.h runtime/engine/purpose.def runtime/engine/rivalry.c runtime/engine/rivalry.h \
    runtime/engine/run.c \
    runtime/engine/run.h runtime/engine/run_slices.c runtime/engine/shared_alloc.c runtime/engine/shared_alloc.h \
    runtime/engine/shm_ring.c runtime/engine/shm_write.c runtime/engine/shm_write.h runtime/engine/signature.c runtime/engine/signature.h \
    runtime/engine/stall.c runtime/engine/stall.h runtime/engine/stand.h runtime/engine/trace_spans.c \
    runtime/engine/trace_spans.h runtime/engine/transfer.c runtime/engine/wait.c runtime/engine/wait.h \
    runtime/engine/whereabouts.c runtime/engine/whereabouts.h
