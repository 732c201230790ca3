/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of deadlines: see clock.h. */
#include "runtime/base/clock.h"

#include <stdatomic.h>

static _Atomic uint64_t looked_at, unseen_ns; /* of all threads: they are stopped together */

double hx_clock_awake(void)
{
    const uint64_t now = hx_now_ns();
    /* relaxed: only numbers pass here, and of each gap one thread sees both ends */
    const uint64_t last = atomic_exchange_explicit(&looked_at, now, memory_order_relaxed);

    if (last && now > last && now - last > HX_UNSEEN_NS)
        atomic_fetch_add_explicit(&unseen_ns, now - last - HX_UNSEEN_NS, memory_order_relaxed);
    return 1e-9 * (double)(now - atomic_load_explicit(&unseen_ns, memory_order_relaxed));
}

double hx_deadline(double timeout)
{
    return timeout > 0 ? hx_clock_awake() + timeout : 0;
}

int hx_deadline_passed(double deadline)
{
    return deadline > 0 && hx_clock_awake() >= deadline;
}

int hx_deadline_ms(double deadline)
{
    const double left = deadline > 0 ? 1e3 * (deadline - hx_clock_awake()) : HX_LOOK_MS;

    return left < 0 ? 0 : left < HX_LOOK_MS ? (int)left + 1 : HX_LOOK_MS;
}
