/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver of rounds of drawn faults: see faults.h.
 * usage: faults SEED [KIND]       plays the round of this seed, with this kind of fault; exit status 1: something is wrong
 *        faults --tell SEED       prints what the seed draws */
#include "faults.h"
#include "runtime/base/clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct round round_;
static struct record *records;
static pid_t pids[RANKS];
static double stopped_at[RANKS];

/* Find a free port. */
static int port_find(void)
{
    for (int i = 0, port = 11000 + (int)getpid() * 17 % 18000; i < 1000; i++, port = 11000 + (port - 10900) % 18000) {
        struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_ANY)};
        int fd = socket(AF_INET, SOCK_STREAM, 0), free_ = fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0;
        if (fd >= 0)
            close(fd);
        if (free_)
            return port;
    }
    return 11000;
}

static void settings_make(void)
{
    char root[32], *equals;
    static char setting[64];

    snprintf(root, sizeof(root), "localhost:%d", port_find());
    setenv("HX_ROOT", root, 1);
    setenv("HX_SECRET", "s", 1);
    setenv("FI_LOG_LEVEL", "none", 1);
    if (strcmp(round_.nodes, "0"))
        setenv("HX_NODES", round_.nodes, 1);
    snprintf(setting, sizeof(setting), "%s", round_.setting);
    if ((equals = strchr(setting, '='))) {
        *equals = 0;
        setenv(setting, equals + 1, 1);
    }
}

static int rank_of(pid_t pid)
{
    for (int r = 0; r < round_.size; r++)
        if (pids[r] == pid)
            return r;
    return -1;
}

/* Continue or kill each stopped rank when its time has come. */
static void stops_end(void)
{
    for (int r = 0; r < round_.size; r++) {
        double now = hx_now_s();
        if (stopped_at[r] == 0 || now - stopped_at[r] < round_.victims[0].stop_s)
            continue;
        records[r].stopped_s = now - stopped_at[r];
        stopped_at[r] = 0;
        if (round_.kind->how == STOPS_AND_DIES) {
            records[r].struck_at = now;
            kill(pids[r], SIGKILL);
        }
        kill(pids[r], SIGCONT);
    }
}

/* Record which ranks have died or stopped. */
static void ends_note(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        int r = rank_of(pid);
        if (r < 0)
            continue;
        if (WIFSTOPPED(status)) {
            stopped_at[r] = hx_now_s();
            continue;
        }
        pids[r] = 0;
        records[r].died_at = hx_now_s();
        if (!records[r].struck && !records[r].released) {
            records[r].ended_by_itself = status ? status : -1;
            records[r].done = 1;
        }
    }
}

static int all_are_done(void)
{
    for (int r = 0; r < round_.size; r++)
        if (pids[r] && !records[r].done)
            return 0;
    return 1;
}

static void sleep_briefly(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void round_watch(void)
{
    double end = hx_now_s() + 2 * (LIMIT_S + MARGIN_S) + 2 * LIMIT_S;

    while (!all_are_done() && hx_now_s() < end) {
        ends_note();
        stops_end();
        sleep_briefly();
    }
}

/* Check that no process is left: neither a rank, nor one that a rank has started. */
static int round_end(void)
{
    double end = hx_now_s() + MARGIN_S;
    int failures = 0;
    pid_t pid;

    for (int r = 0; r < round_.size; r++)
        records[r].released = 1;
    for (int r = 0; r < round_.size; r++)
        if (records[r].child > 0)
            kill(records[r].child, SIGKILL);
    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 || errno == EINTR) {
        if (pid > 0 && rank_of(pid) >= 0)
            pids[rank_of(pid)] = 0;
        if (pid == 0 && hx_now_s() > end)
            break;
        if (pid == 0)
            sleep_briefly();
    }
    for (int r = 0; r < round_.size; r++)
        if (pids[r]) {
            printf("    rank %d does not end\n", r);
            kill(pids[r], SIGKILL);
            failures++;
        }
    return failures;
}

int main(int argc, char **argv)
{
    char text[512];
    int failures, tells;
    double start = hx_now_s();

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return 2;
    tells = !strcmp(argv[1], "--tell");
    round_ = faults_draw(argc > 1 + tells ? strtoull(argv[1 + tells], NULL, 0) : 0, argc > 2 + tells ? argv[2 + tells] : NULL);
    faults_tell(&round_, text, sizeof(text));
    if (tells) {
        puts(text);
        return 0;
    }
    records = mmap(NULL, sizeof(*records) * RANKS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (records == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 2;
    settings_make();
    for (int r = 0; r < round_.size; r++)
        if ((pids[r] = fork()) == 0)
            faults_play(&round_, r, records);
    round_watch();
    failures = faults_judge(&round_, records) + round_end();
    printf("%s %s: %.1f s\n", failures ? "FAILED" : "ok", text, hx_now_s() - start);
    return failures > 0;
}
