/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard streams that are closed. A file or a socket that is opened then gets the number 0, 1 or 2, and whatever the program prints goes
 * there. So these numbers are held while others open descriptors. What holds one cannot be read or written (O_PATH): the program gets
 * EBADF, as from a closed descriptor. It stands alone, because tools that do not link the library need it too.
 */
#ifndef HX_STREAMS_H
#define HX_STREAMS_H
#include <fcntl.h>
#include <unistd.h>

/* flags: O_CLOEXEC, or 0 if programs that are started inherit it. Returns those held, a bit each, for hx_streams_release. */
static inline int hx_streams_hold(int flags)
{
    int held = 0, fd;

    while ((fd = open("/", O_PATH | flags)) >= 0 && fd <= STDERR_FILENO)
        held |= 1 << fd;
    if (fd > STDERR_FILENO)
        close(fd);
    return held;
}

/* What the program has put there meanwhile stays. */
static inline void hx_streams_release(int held)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if ((held & 1 << fd) && (fcntl(fd, F_GETFL) & O_PATH))
            close(fd);
}

#endif
