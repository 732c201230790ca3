/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files that a rank needs: see files.h. */
#include "runtime/base/files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#define SPARE_FILES 64 /* for the program, and the network */
#define LOOK_FILES 4096 /* descriptors have low numbers: higher ones are not counted */

/* While a node starts, its host holds two descriptors for each guest, and every guest one for each rank. The program has others. */
int hx_files_needed(int ranks)
{
    return 2 * ranks + SPARE_FILES;
}

int hx_files_allow(int files)
{
    rlim_t needed = (rlim_t)files;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return files;
    if (limit.rlim_cur < needed) {
        limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur : INT_MAX;
}

/* One call of the kernel, not 64. Without events poll reports only which numbers are not open; it takes no more than the limit of open files. */
uint64_t hx_files_look(int first)
{
    struct pollfd files[64];
    uint64_t open = 0;
    int looked;

    for (int i = 0; i < 64; i++)
        files[i] = (struct pollfd){.fd = first + i};
    do
        looked = poll(files, 64, 0);
    while (looked < 0 && errno == EINTR);
    for (int i = 0; i < 64; i++)
        open |= (uint64_t)(looked < 0 ? fcntl(first + i, F_GETFD) >= 0 : !(files[i].revents & POLLNVAL)) << i;
    return open;
}

int hx_files_open(void)
{
    int most = hx_files_allow(0), n = 0;

    for (int fd = 0; fd < most && fd < LOOK_FILES; fd += 64)
        n += __builtin_popcountll(hx_files_look(fd));
    return n;
}

hx_status_t hx_files_reserve(int rank, int files)
{
    int allowed = hx_files_allow(files);

    if (allowed >= files)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_NOMEM, "rank %d needs at least %d open files, its connections to other nodes included, but may open only %d (ulimit -Hn)",
                   rank, files, allowed);
}

hx_status_t hx_files_fail(int ranks, int error)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    if (error != EMFILE)
        return hx_fail(HX_ERR_NOMEM, "cannot accept the ranks of this node: %s", strerror(error));
    return hx_fail(HX_ERR_NOMEM, "each of %d or more ranks on a node needs %d open files, but this process may open only %llu (ulimit -n)", ranks,
                   hx_files_needed(ranks), (unsigned long long)limit.rlim_cur);
}
