# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/plan.h runtime/plan.c runtime/op.def runtime/purpose.def runtime/pairs.h runtime/pairs.c runtime/builder.c runtime/layout.h runtime/items.h runtime/layout.c runtime/layout_work.c \
    runtime/node.h runtime/node.c runtime/wait.h runtime/wait.c runtime/comm.h runtime/engine.h runtime/engine.c runtime/bind.c runtime/bind_step.c runtime/bind_stream.c runtime/bind_traffic.c \
    runtime/data.c runtime/memcpy.h runtime/memcpy.c runtime/stream.h runtime/stream.c runtime/share.h runtime/share.c runtime/fetch.c runtime/window.h runtime/window.c runtime/window_view.c runtime/transfer.c runtime/flags.h runtime/run.c runtime/stall.c runtime/watch.h runtime/watch.c runtime/failed.h runtime/failed.c runtime/whereabouts.h runtime/whereabouts.c runtime/transport.h runtime/secret.h runtime/secret.c runtime/startup.h runtime/streams.h runtime/startup.c runtime/startup_exchange.c runtime/startup_job.c \
    runtime/api.c runtime/stats.h runtime/stats.c runtime/counter.def runtime/user.h runtime/user.c runtime/blocks.h runtime/blocks.c \
    runtime/comm.c runtime/comm_create.c runtime/number.h runtime/number.c runtime/progress_thread.c runtime/tuning.c runtime/ring_order.c runtime/call.h runtime/call.c runtime/call_traffic.c runtime/call_spread.c runtime/call_agree.c runtime/plan_info.c runtime/signature.h runtime/signature.c runtime/lock.h runtime/collectives.c runtime/request.c runtime/request_queue.c runtime/registry.c
hx_sources += runtime/probe.h runtime/trace.h runtime/trace.c runtime/trace_clock.c runtime/trace_write.c
hx_sources += runtime/handle.h runtime/handle.c
hx_sources += runtime/clock.h runtime/clock.c runtime/strangers.h runtime/ancestor.h runtime/ancestor.c
hx_sources += runtime/files.h runtime/files.c
