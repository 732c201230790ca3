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
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t guard;
static int guard_fd = -1;

/* Add a group that is to be killed, or, if word is negative, remove group -word. Returns the number of groups. */
static int note(pid_t *groups, int n, pid_t word)
{
    int i = 0;

    if (word > 0) {
        groups[n] = word;
        return n + 1;
    }
    while (i < n && groups[i] != -word)
        i++;
    if (i == n)
        return n;
    groups[i] = groups[n - 1];
    return n - 1;
}

__attribute__((noreturn)) static void guard_main(int fd, pid_t *groups)
{
    pid_t word;
    ssize_t bytes;
    int n = 0;

    setsid(); /* signals to coll_run's group, as from a terminal, must not end the guard */
    prctl(PR_SET_NAME, "hx_guard"); /* nor must killall coll_run */
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        close(stream); /* other processes may wait for the end of these streams */
    while ((bytes = read(fd, &word, sizeof word)) == sizeof word || (bytes < 0 && errno == EINTR))
        n = bytes > 0 ? note(groups, n, word) : n;
    for (int i = 0; i < n; i++)
        kill(-groups[i], SIGKILL);
    _exit(0);
}

int guard_start(int ranks)
{
    pid_t *groups = calloc((size_t)ranks, sizeof *groups);
    int ends[2];

    if (!groups || pipe2(ends, O_CLOEXEC) < 0) {
        free(groups);
        return -1;
    }
    guard = fork();
    if (guard == 0) {
        close(ends[1]);
        guard_main(ends[0], groups);
    }
    free(groups);
    close(ends[0]);
    guard_fd = ends[1];
    return guard < 0 ? -1 : 0;
}

static void tell(pid_t word)
{
    while (write(guard_fd, &word, sizeof word) < 0 && errno == EINTR)
        ;
}

void guard_add(pid_t group)
{
    tell(group);
}

void guard_drop(pid_t group)
{
    tell(-group);
}

void guard_stop(void)
{
    if (guard_fd >= 0)
        close(guard_fd);
    if (guard > 0)
        waitpid(guard, NULL, 0);
}
