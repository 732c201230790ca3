/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_TRACE: the file, and the spans of non-blocking calls. */
#pragma once

#include "runtime/api/call.h"
#include "runtime/engine/trace_spans.h"

/* A non-blocking call has ended. engine: where it has run. */
void hx_trace_background(const struct hx_request *request, const struct hx_engine *engine, hx_status_t status);
/* Write all there is, what is under way included. Warns where that fails. */
void hx_trace_write(const struct hx_world *world);
