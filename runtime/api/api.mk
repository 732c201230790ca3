# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/api/abort.c runtime/api/alloc.c runtime/api/alltoallw.c runtime/api/atomic.c runtime/api/blocks.c runtime/api/call.c runtime/api/call.h \
    runtime/api/call_prepare.c runtime/api/choices.c runtime/api/collectives.c runtime/api/comm.h runtime/api/comm_build.c runtime/api/commit.c runtime/api/commit.h \
    runtime/api/comm_create.c runtime/api/failed.c runtime/api/failed.h runtime/api/group.c runtime/api/inplace_copy.c \
    runtime/api/lock.h runtime/api/message.c runtime/api/message_stall.c runtime/api/notice.c runtime/api/revoke.c \
    runtime/api/neighbors.c runtime/api/number.c runtime/api/number.h runtime/api/overlap.c runtime/api/pair_counts.c runtime/api/plan_info.c runtime/api/progress.c runtime/api/request.c \
    runtime/api/request_list.c runtime/api/request_memory.c runtime/api/request_queue.c runtime/api/request_wait.c runtime/api/request_wait.h \
    runtime/api/root_counts.c runtime/api/short_blocks.c runtime/api/shrink.c runtime/api/state.h runtime/api/state_compare.c \
    runtime/api/state_hash.c runtime/api/state_sync.c runtime/api/state_transfer.c runtime/api/stats_count.c \
    runtime/api/timeout.c runtime/api/trace_write.c runtime/api/undo.c runtime/api/user.c runtime/api/wire.c runtime/api/world.c
