/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_TRACE: the spans of calls and stages. For HX_TRACING; what is not recorded costs nothing else. */
#pragma once

#include "runtime/base/probe.h"
#include "runtime/engine/engine.h"

/* The span of a call, but for its end. count: elements. */
struct hx_event hx_event_of_call(const char *name, const struct hx_engine *engine, const struct hx_call_key *key, uint64_t count);
/* Such a call has ended. */
void hx_trace_ended(struct hx_event event, const struct hx_engine *engine, hx_status_t status);

/* A blocking call. Nothing where one of this thread is being recorded already: a call that is part of it. */
void hx_trace_call_begin(struct hx_trace_open *open, const char *name, const struct hx_engine *engine, const struct hx_call_key *key,
                         uint64_t count);
void hx_trace_call_end(struct hx_trace_open *open, hx_status_t status);

void hx_trace_stage(const struct hx_run *run, const struct hx_instance *instance);
