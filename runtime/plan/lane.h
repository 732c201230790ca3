/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks of a node carry the lanes of a call between nodes. */
#pragma once

#include <stdint.h>

/* The local rank that carries lane on a node of n ranks, and the first local rank that lane covers (lane == lanes: n). */
static inline int hx_lane_carrier(int lane, int lanes, int n)
{
    return (int)((int64_t)lane * n / lanes);
}

/* The inverse: the lane that this local rank carries; -1: none. There may be more lanes than ranks. */
static inline int hx_lane_carried(int local, int lanes, int n)
{
    const int lane = (int)(((int64_t)local * lanes + n - 1) / n);

    return lane < lanes && hx_lane_carrier(lane, lanes, n) == local ? lane : -1;
}
