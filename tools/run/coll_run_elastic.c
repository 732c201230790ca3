/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run --elastic: a store for processes that join (runtime/bootstrap/lobby.h), and a new process in the place of each that fails. A place is
 * the index of a process: the first ones are the ranks that start the job, the others are processes that join. */
#include "tools/run/coll_run.h"
#include "tools/run/coll_run_elastic.h"
#include "runtime/base/clock.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGAIN_SECONDS 0.2 /* until a process is started in place of one that has failed: the program may fail at once, again and again */

static char *const names[] = {"job"};

int elastic_open(struct elastic *elastic, const struct options *options, const char *secret)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char text[64];

    elastic->restarts = (int)options->restarts;
    elastic->start_at = calloc(options->max, sizeof *elastic->start_at);
    elastic->joins = calloc(options->max, 1);
    elastic->first_ranks = (int)options->ranks;
    if (!elastic->start_at || !elastic->joins || fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0 || hx_lobby_open(fd, secret, names, 1, &elastic->lobby) < 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (uint64_t i = options->ranks; i < options->max; i++) {
        elastic->start_at[i] = hx_clock_awake();
        elastic->joins[i] = 1;
    }
    snprintf(text, sizeof text, "127.0.0.1:%d/%s", ntohs(address.sin_port), names[0]);
    setenv("HX_STORE", text, 1);
    return 0;
}

void elastic_close(struct elastic *elastic)
{
    if (elastic->lobby)
        hx_lobby_close(elastic->lobby);
    free(elastic->start_at);
    free(elastic->joins);
}

void elastic_ended(struct elastic *elastic, int place, const siginfo_t *info)
{
    elastic->first_ranks -= !elastic->joins[place];
    elastic->joins[place] = 1;
    if (info->si_code == CLD_EXITED && info->si_status == 0) {
        elastic->well++;
        return;
    }
    elastic->status = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
    if (elastic->well) { /* the program is at its end */
        elastic->late = elastic->status;
        return;
    }
    if (elastic->restarts == 0) {
        say("process %d (pid %d) has failed with status %d; --restarts allows no other in its place", place, (int)info->si_pid, elastic->status);
        return;
    }
    elastic->restarts--;
    elastic->start_at[place] = hx_clock_awake() + AGAIN_SECONDS;
    say("process %d (pid %d) has failed with status %d; another takes its place", place, (int)info->si_pid, elastic->status);
}

double elastic_until(const struct elastic *elastic, int places)
{
    double until = NEVER;

    for (int i = 0; i < places; i++)
        if (elastic->start_at[i] > 0 && elastic->start_at[i] < until)
            until = elastic->start_at[i];
    return until;
}

int elastic_due(struct elastic *elastic, int places)
{
    for (int i = 0; i < places; i++) {
        if (elastic->start_at[i] <= 0 || hx_clock_awake() < elastic->start_at[i])
            continue;
        elastic->start_at[i] = 0;
        if (!elastic->well)
            return i;
    }
    return -1;
}

int elastic_members(const struct elastic *elastic, int running)
{
    if (elastic->first_ranks == 0 && !hx_lobby_has_admitted(elastic->lobby, 0))
        return 0;
    return running - hx_lobby_waiting(elastic->lobby, 0);
}
