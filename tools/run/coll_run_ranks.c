/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of this machine: set up what they share, start them, send them signals, and see how they end. */
#include "tools/run/coll_run.h"
#include "tools/common/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The settings that ranks_environment and child_main, below, set. */
const char *const coll_run_own_settings[] = {"HX_ROOT", "HX_RANK", "HX_SIZE", "HX_SECRET", "HX_LAUNCHER", "HX_BOOTSTRAP", NULL};

#define STRANGERS_FDS 64  /* and two for each rank: connections to the store of others than ranks */
#define INHERITED_MAX 256 /* descriptors that are looked at */

/* The number of descriptors that coll_run has inherited. */
static int open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < INHERITED_MAX; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Raise the soft limit to what the job needs; further, if the hard limit allows it, since strangers that connect to the store use
 * descriptors too. */
static int raise_file_limit(struct ranks *ranks)
{
    const int inherited = open_files(), of_rank = ranks->piped ? 3 : 1;
    const rlim_t needed = (rlim_t)(ranks->size + ranks->n * (of_rank - 1) + ranks->own_files + inherited);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &ranks->old_files) < 0)
        return -1;
    limit = ranks->old_files;
    if (limit.rlim_max < needed) {
        say("-n %d%s needs %llu open files, but the hard limit is %llu (ulimit -Hn). %d are open already, coll_run itself needs "
            "%d, and each rank %d",
            ranks->size, ranks->options->prefix ? " --prefix" : "", (unsigned long long)needed, (unsigned long long)limit.rlim_max,
            inherited, ranks->own_files, of_rank);
        return -1;
    }
    const rlim_t wanted = needed + (rlim_t)(2 * ranks->size + STRANGERS_FDS);
    if (limit.rlim_cur < wanted)
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_signals(struct ranks *ranks)
{
    static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    struct sigaction action;
    sigset_t set;

    signal(SIGCHLD, SIG_DFL); /* ignored by a parent, it would take the exit statuses away */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (sigaction(watched[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) /* nohup: also where it is blocked */
            sigaddset(&set, watched[i]);
    sigprocmask(SIG_BLOCK, &set, &ranks->old_mask);
    ranks->old_pipe = signal(SIGPIPE, SIG_IGN);
    ranks->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return ranks->signal_fd < 0 ? -1 : 0;
}

int secret_find(char secret[SECRET_TEXT_BYTES])
{
    const char *given = getenv("HX_STORE") ? getenv("HX_SECRET") : NULL;

    if (!given || !*given || strspn(given, "*") == strlen(given)) /* a rank that starts coll_run has overwritten its own */
        return secret_make(secret);
    if (strlen(given) >= SECRET_TEXT_BYTES) {
        errno = E2BIG;
        return -1;
    }
    strcpy(secret, given);
    return 0;
}

int secret_make(char secret[SECRET_TEXT_BYTES])
{
    unsigned char random[SECRET_TEXT_BYTES / 2];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -1;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(secret + 2 * i, 3, "%02x", random[i]);
    return 0;
}

int ranks_open(struct ranks *ranks)
{
    ranks->signal_fd = -1;
    ranks->pids = calloc((size_t)ranks->n + 1, sizeof *ranks->pids);
    if (!ranks->pids) {
        say("no memory for %d ranks", ranks->n);
        return 1;
    }
    if (raise_file_limit(ranks) < 0 || (ranks->options->bind != BIND_NONE && cores_find(ranks->options, &ranks->cores) < 0))
        return EXIT_USAGE;
    if (open_signals(ranks) < 0 || (ranks->n > 0 && guard_start(ranks->pids, ranks->n) < 0)) {
        say("cannot watch the ranks: %m");
        return 1;
    }
    return 0;
}

static void number_set(const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    setenv(name, text, 1);
}

void ranks_environment(const struct ranks *ranks, const char *root, const char *secret)
{
    if (ranks->options->nodes)
        setenv("HX_NODES", ranks->options->nodes, 1);
    setenv("HX_ROOT", root, 1);
    number_set("HX_SIZE", ranks->size);
    setenv("HX_SECRET", secret, 1);
    setenv("HX_BOOTSTRAP", "auto", 1);
    number_set("HX_LAUNCHER", (int)getpid());
    if (ranks->piped && screen_columns() < INT_MAX) /* the ranks write to pipes; a screen takes their lines and "[rank] " */
        number_set("COLUMNS", screen_columns() - snprintf(NULL, 0, "[%d] ", ranks->size - 1));
    setenv("IPATH_NO_BACKTRACE", "1", 0); /* a library of libfabric's would catch signals while it is loaded */
}

static void child_main(const struct ranks *ranks, int idx, int joins, pid_t parent, const int out_fds[2])
{
    const int rank = ranks->first + idx;

    setpgid(0, 0);
    guard_tell(getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_CANNOT_RUN); /* coll_run died before prctl */
    /* one input cannot go to many: only rank 0 gets one */
    const int input = rank == 0 && ranks->input >= 0 ? ranks->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input > STDIN_FILENO)
        dup2(input, STDIN_FILENO);
    for (int i = 0; i < 2; i++)
        if (out_fds[i] >= 0)
            dup2(out_fds[i], STDOUT_FILENO + i);
    cores_bind_self(&ranks->cores, idx, ranks->n);
    number_set("HX_RANK", rank);
    for (int i = 0; i < 3 && joins; i++) /* hx_init would look for the store of the start */
        unsetenv((const char *[]){"HX_ROOT", "HX_RANK", "HX_SIZE"}[i]);
    setrlimit(RLIMIT_NOFILE, &ranks->old_files);
    signal(SIGPIPE, ranks->old_pipe);
    sigprocmask(SIG_SETMASK, &ranks->old_mask, NULL);
    execvp(ranks->options->program[0], ranks->options->program);
    say("rank %d cannot run program \"%s\": %m", rank, ranks->options->program[0]);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

int ranks_start(struct ranks *ranks, int idx, int joins, int fds[2])
{
    const pid_t parent = getpid();
    int out_fds[2] = {-1, -1};

    fds[0] = fds[1] = -1;
    for (int i = 0; i < 2 && ranks->piped; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return -1;
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        fds[i] = ends[0];
        out_fds[i] = ends[1];
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        child_main(ranks, idx, joins, parent, out_fds);
    for (int i = 0; i < 2; i++)
        if (out_fds[i] >= 0)
            close(out_fds[i]);
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* also here, so that a signal sent at once finds the group */
    ranks->pids[idx] = pid;
    ranks->running++;
    return 0;
}

void ranks_signal(const struct ranks *ranks, int signal_number)
{
    for (int i = 0; ranks->pids && i < ranks->n; i++)
        if (ranks->pids[i] > 0)
            kill(-ranks->pids[i], signal_number);
}

void ranks_collect(struct ranks *ranks, void (*ended)(void *arg, int rank, const siginfo_t *info), void *arg)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            break;
        for (int i = 0; i < ranks->n; i++) {
            if (ranks->pids[i] != info.si_pid)
                continue;
            kill(-info.si_pid, SIGKILL); /* processes that it left behind; its id is not free for others before waitpid */
            guard_tell(-info.si_pid);
            ranks->pids[i] = 0;
            ranks->running--;
            ended(arg, ranks->first + i, &info);
        }
        waitpid(info.si_pid, NULL, 0);
    }
}

void ranks_close(struct ranks *ranks)
{
    guard_stop();
    free(ranks->cores.number_of);
    free(ranks->pids);
}
