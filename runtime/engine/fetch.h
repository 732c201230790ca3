/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the ranks of this node read each other's memory? Asked once, at start-up. */
#pragma once

#include "runtime/ports/node.h"

/* Let the ranks of the node read this one's memory; then, once all have done so, see whether this one can read theirs. The
 * result is in the node's header when all have arrived. */
void hx_fetch_offer(struct hx_shared *shared);
void hx_fetch_try(struct hx_shared *shared);
void hx_fetch_end(struct hx_shared *shared); /* not any more, unless ranks of another open segment may */
