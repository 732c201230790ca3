/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: a small process that kills the ranks' process groups if coll_run ends without doing so, as by SIGKILL. It reads a pipe whose
 * other end only coll_run keeps open: end of file means that coll_run is gone. The kernel alone would kill only coll_run's own children,
 * but a rank may be the child of a shell.
 */
#include "tools/run/coll_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t guard;
static int guard_fd = -1;

__attribute__((noreturn)) static void guard_main(int fd, pid_t *groups, int ranks)
{
    pid_t word;

    setsid(); /* signals to coll_run's group, as from a terminal, must not end the guard */
    prctl(PR_SET_NAME, "hx_guard"); /* nor must killall coll_run */
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        close(stream); /* other processes may wait for the end of these streams */
    while (read(fd, &word, sizeof word) == sizeof word) {
        const pid_t old = word > 0 ? 0 : -word;
        int i = 0;
        while (i < ranks && groups[i] != old)
            i++;
        if (i < ranks)
            groups[i] = word > 0 ? word : 0;
    }
    for (int i = 0; i < ranks; i++)
        if (groups[i] > 0)
            kill(-groups[i], SIGKILL);
    _exit(0);
}

int guard_start(pid_t *groups, int ranks)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    guard = fork();
    if (guard == 0) {
        close(ends[1]);
        guard_main(ends[0], groups, ranks);
    }
    close(ends[0]);
    guard_fd = ends[1];
    return guard < 0 ? -1 : 0;
}

void guard_tell(pid_t word)
{
    while (write(guard_fd, &word, sizeof word) < 0 && errno == EINTR)
        ;
}

void guard_stop(void)
{
    if (guard_fd >= 0)
        close(guard_fd);
    if (guard > 0)
        waitpid(guard, NULL, 0);
}
