/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files that the ranks of a node need while they meet: see files.h. */
#include "files.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define SPARE_FILES 64 /* for the program, and the network */

/* A node's host holds two descriptors of each guest, every guest one of each rank, beside what the program has. */
int hx_files_needed(int ranks)
{
    return 2 * ranks + SPARE_FILES;
}

void hx_files_allow(int ranks)
{
    rlim_t needed = (rlim_t)hx_files_needed(ranks);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

hx_status_t hx_files_fail(int ranks, int error)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    if (error != EMFILE)
        return hx_fail(HX_ERR_NOMEM, "cannot accept the ranks of this node: %s", strerror(error));
    return hx_fail(HX_ERR_NOMEM, "%d ranks or more on a node need %d open files each, and this process may open %llu (ulimit -n)", ranks,
                   hx_files_needed(ranks), (unsigned long long)limit.rlim_cur);
}
