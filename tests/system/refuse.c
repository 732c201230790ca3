/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded. These variables of the environment choose what goes wrong:
 *   REFUSE       memfd_create fails with this errno, as a container's filter would make it
 *   DIE_HOST     the process that creates the node's segment ends when it does so
 *   DIE_SHARING  that process ends once the first other rank has the segment
 *   DIE          the rank of this number ends when it allows the others of its node to read its memory
 *   PAUSE        a process that begins to listen then does nothing for a second
 *   NAPS         each sleep takes at least 0.7 s
 *   TRACER       the call that allows processes to read this one's memory is printed on standard error */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_host, passed;

int memfd_create(const char *name, unsigned int flags)
{
    const char *number = getenv("REFUSE");

    if (getenv("DIE_HOST")) {
        fprintf(stderr, "rank %s dies\n", getenv("HX_RANK"));
        _exit(3);
    }
    is_host = 1;
    if (!number)
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = atoi(number);
    return -1;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (getenv("DIE_SHARING") && is_host && message->msg_controllen && ++passed > 2) { /* each gets the segment, then eventfds */
        fprintf(stderr, "rank %s dies\n", getenv("HX_RANK"));
        _exit(3);
    }
    return syscall(SYS_sendmsg, fd, message, flags);
}

int prctl(int option, ...)
{
    const char *die = getenv("DIE"), *rank = getenv("HX_RANK");
    unsigned long values[4];
    va_list list;

    if (option == PR_SET_PTRACER && die && rank && atoi(die) == atoi(rank))
        _exit(3);
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        values[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_PTRACER && getenv("TRACER")) {
        fprintf(stderr, "rank %s lets %ld read\n", rank, (long)values[0]);
        return 0; /* as under Yama */
    }
    return (int)syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]);
}

int listen(int fd, int backlog)
{
    const int rc = (int)syscall(SYS_listen, fd, backlog);

    if (getenv("PAUSE"))
        sleep(1);
    return rc;
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    const struct timespec nap = {.tv_nsec = 700000000};

    if (getenv("NAPS") && time->tv_sec == 0 && time->tv_nsec < nap.tv_nsec)
        time = &nap;
    return (int)syscall(SYS_nanosleep, time, rest);
}
