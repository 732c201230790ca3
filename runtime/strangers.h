/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that have yet to prove that they are of the job, at the store and at the node's socket. */
#ifndef HX_STRANGERS_H
#define HX_STRANGERS_H
#include <sys/resource.h>

#define HX_STRANGERS_MORE 64  /* at once, than there are ranks */
#define HX_STRANGERS_LEAST 16 /* at once, however few descriptors this process may have */

/* So many at once at most: all ranks may come together, but this process needs descriptors for other things. */
static inline int hx_strangers_most(int ranks)
{
    const rlim_t wanted = (rlim_t)ranks + HX_STRANGERS_MORE;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 >= wanted)
        return (int)wanted;
    return files.rlim_cur / 4 > HX_STRANGERS_LEAST ? (int)(files.rlim_cur / 4) : HX_STRANGERS_LEAST;
}

#endif
