/* SPDX-License-Identifier: BSD-3-Clause */
/* A job on the hosts of --hosts: what its parts share. The list of hosts (coll_run_hosts_list.c), agents (coll_run_hosts_agent.c), messages
 * and the loop (coll_run_hosts.c). */
#pragma once

#include "tools/run/coll_run.h"

#define NAME_BYTES 256

struct rank_end { /* of a rank that has failed */
    long pid;
    int code, value; /* si_code and si_status; code 0: it has not failed */
};

struct host {
    char name[NAME_BYTES];
    int first, n; /* its ranks */
    pid_t agent;  /* 0: not running */
    struct channel channel;
    int errors; /* the agent's standard error; -1: closed */
    char line[1024];
    size_t line_bytes;
    int running, status; /* ranks that run; the agent's wait status */
    int reached, done, ended, closed; /* it reaches the store; its ranks have ended; the channel is at its end; the agent has ended too */
    int streams_ended; /* streams of its ranks that are at their end, counted after the end of the channel */
};

struct front {
    struct job job;
    struct ranks none; /* signals and limits of this process */
    struct host *hosts;
    int n_hosts;
    char secret[SECRET_TEXT_BYTES], token[SECRET_TEXT_BYTES];
    int started;
    int input_open, input_taken; /* standard input goes to rank 0; the last part of it has gone there */
    struct rank_end *ends; /* of each rank */
    int first_failed;      /* the rank that has failed first, as far as is known here; -1: none */
    double decide_at;      /* when to report the failure */
    int leaving;       /* the keepers' inputs are closed, so that they end */
    double abandon_at; /* kill the agents */
};

/* The number of hosts, or -1 and error (without a prefix). *ranks: as given by -n, or 0; then the number. */
int hosts_parse(const char *list, int *ranks, struct host **out, char *error, size_t room);

/* The command for a host's shell that starts its keeper; NULL: no memory. */
char *keeper_command(void);
/* Start the agent of a host, and send it FRAME_JOB. 0, or -1 and errno. */
int agent_start(struct front *front, struct host *host, char *command);
void agents_reap(struct front *front);
void agents_kill(struct front *front);
/* Pass on, line by line, what the agent and its keeper say. */
void errors_pass(struct host *host);
void errors_end(struct host *host); /* with an unfinished line */
