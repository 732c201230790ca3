/* SPDX-License-Identifier: BSD-3-Clause */
/* How many connections may exist that have not yet proved to be of the job: at the store, at the node's socket and at endpoints. */
#pragma once

#include <sys/resource.h>

#define HX_STRANGERS_MORE 64  /* more than there are ranks */
#define HX_STRANGERS_LEAST 16 /* the limit is never lower, however few descriptors this process may have */

/* The largest number at once. All ranks may come together, but this process needs descriptors for other things too. */
static inline int hx_strangers_most(int ranks)
{
    const rlim_t wanted = (rlim_t)ranks + HX_STRANGERS_MORE;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 >= wanted)
        return (int)wanted;
    return files.rlim_cur / 4 > HX_STRANGERS_LEAST ? (int)(files.rlim_cur / 4) : HX_STRANGERS_LEAST;
}
