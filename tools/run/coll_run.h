/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run's parts: options (coll_run.c), the job (coll_run_job.c), cores (coll_run_bind.c), output
 * (coll_run_output.c), the guard (coll_run_guard.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXIT_USAGE 2
#define EXIT_TIMEOUT 124 /* as timeout(1) */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

enum bind_mode { BIND_AUTO, BIND_NONE, BIND_CORE };

struct options {
    uint64_t ranks;
    const char *nodes; /* NULL: not given */
    enum bind_mode bind;
    int prefix;
    double timeout, kill_after; /* seconds; timeout 0: none */
    char **program;             /* argv of the ranks */
};

/* A line on stderr, "coll_run: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names of the variables that coll_run sets for every rank, so that --env cannot; ends with NULL. */
extern const char *const coll_run_own_settings[];

/* Run the job to its end; returns coll_run's exit status. */
int job_run(const struct options *options);

/* A process that kills the ranks' groups when coll_run is gone, which it notes in its copy of groups: zeros now. Started before any
 * rank; 0, or -1 and errno. */
int guard_start(pid_t *groups, int ranks);
/* A group to add: the rank calls it before its program runs, so the guard always knows the group. Or, negative, one to drop: to be
 * called before the group's id can be used again. */
void guard_tell(pid_t word);
void guard_stop(void);

/* The cores that this process may use. */
struct cores {
    int count;      /* 0: do not bind */
    int *number_of; /* by processing unit: its core, from 1; 0: not allowed */
};
int cores_find(const struct options *options, struct cores *cores); /* 0, or -1 after an error that --bind core is not possible */
void cores_bind_self(const struct cores *cores, int rank, int ranks);

/* One stream of a rank, whose lines are passed on with "[rank] " in front, to standard output or standard error. */
struct stream {
    int fd; /* read end of the pipe, non-blocking; -1 when closed */
    int rank;
    struct outlet *to;
    long left_bytes; /* to be read before it is closed; -1: to its end */
    size_t used_bytes;
    char line[4096]; /* an unfinished line; a longer one is passed on in parts */
};
#define OUTLETS 2
#define OWN_POLLS 2
struct output {
    struct stream *streams;
    struct pollfd *fds; /* to wait for: OWN_POLLS of the caller's, n + OUTLETS of the streams */
    int n;              /* 0: the ranks write to where coll_run does */
    int next;           /* to be read first */
    int lost;           /* a line could not be written, although its reader is still there; coll_run has reported it */
    int unread;         /* the reader of standard output or error has gone */
};
int output_open(struct output *output, int ranks); /* 0, or -1 without memory */
int output_poll(struct output *output);            /* set fds. Returns whether a stream can go on at once, without a wait */
void output_pass(struct output *output);           /* read, and write, what can be without waiting */
void output_end(struct output *output); /* all ranks have ended: the streams end with what they hold now */
int output_goes_on(const struct output *output); /* is there more to come, or kept? */
