# SPDX-License-Identifier: BSD-3-Clause
hx_sources += runtime/start/constants_find.c runtime/start/constants_measure.c runtime/start/constants_measure.h \
    runtime/start/directory.c runtime/start/exchange.c runtime/start/grow.c runtime/start/grow.h runtime/start/growth.c \
    runtime/start/init.c runtime/start/join.c runtime/start/job_facts.c runtime/start/job_map.c runtime/start/job_map.h \
    runtime/start/links.c runtime/start/links.h runtime/start/net_measure.c runtime/start/node_groups.c \
    runtime/start/progress_thread.c runtime/start/registry.c runtime/start/ring_measure.c runtime/start/startup.c runtime/start/startup.h runtime/start/stats_report.c \
    runtime/start/table_share.c runtime/start/trace_job.c
