/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard streams that are closed. If a standard stream is closed, the next file or socket that is opened gets its number, and what the
 * program prints goes there. So Hierax occupies the free numbers among 0, 1 and 2 with descriptors that cannot be read or written (O_PATH):
 * the program gets EBADF, as from a closed descriptor. This header stands alone, because tools that do not link the library need it too.
 */
#pragma once

#include <fcntl.h>
#include <unistd.h>

/* flags: O_CLOEXEC, or 0 if programs that are started are to inherit them. Returns the numbers held, a bit each, for hx_streams_release. */
static inline int hx_streams_hold(int flags)
{
    int held = 0, fd;

    while ((fd = open("/", O_PATH | flags)) >= 0 && fd <= STDERR_FILENO)
        held |= 1 << fd;
    if (fd > STDERR_FILENO)
        close(fd);
    return held;
}

/* Close what hx_streams_hold opened. If the program has opened a file under such a number meanwhile, it stays open. */
static inline void hx_streams_release(int held)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if ((held & 1 << fd) && (fcntl(fd, F_GETFL) & O_PATH))
            close(fd);
}
