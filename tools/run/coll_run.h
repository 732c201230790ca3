/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run's parts: options (coll_run.c), the job (coll_run_job.c), cores (coll_run_bind.c), output
 * (coll_run_output.c), the guard (coll_run_guard.c). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define EXIT_USAGE 2
#define EXIT_TIMEOUT 124 /* as timeout(1) */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

enum bind_mode { BIND_AUTO, BIND_NONE, BIND_CORE };

struct options {
    int ranks;
    const char *nodes; /* NULL: not given */
    char **settings;   /* X=Y */
    int nsettings;
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

/* A process that kills these groups when coll_run is gone. Started before any rank; 0, or -1 and errno. */
int guard_start(int ranks);
void guard_add(pid_t group);  /* the rank calls it before its program runs, so the guard always knows the group */
void guard_drop(pid_t group); /* to be called before the group's id can be used again */
void guard_stop(void);

/* The cores that this process may use, each with its allowed hardware threads. */
struct cores {
    int count;
    unsigned char *sets; /* count sets of CORE_SET_BYTES */
};
#define CORE_SET_BYTES 1024          /* 8192 processing units */
int cores_find(struct cores *cores); /* 0, or -1 and errno */
void cores_bind_self(const struct cores *cores, int idx);

/* One stream of a rank, whose lines are passed on with "[rank] " in front, to standard output or standard error. */
struct stream {
    int fd; /* read end of the pipe, non-blocking; -1 when closed */
    int rank, to_fd;
    long left_bytes; /* to be read before it is closed; -1: to its end */
    size_t used_bytes;
    char line[4096]; /* an unfinished line; a longer one is passed on in parts */
};
struct output {
    struct stream *streams;
    int n;    /* 0: the ranks write to where coll_run does */
    int next; /* to be read first */
};
struct pollfd;
#define OUTLETS 2
/* Returns 1, with no stream, without memory. */
int output_open(struct output *output, int ranks);
/* What is to be waited for: n + OUTLETS of them. Returns whether there is something to do without waiting. */
int output_poll(const struct output *output, struct pollfd *fds);
void output_pass(struct output *output, const struct pollfd *fds); /* read, and write, what can be without waiting */
void output_end(struct output *output); /* nobody writes any more who counts: the streams end with what they hold now */
int output_goes_on(const struct output *output); /* is there more to come, or kept? */
int output_is_lost(void);                        /* could a line not be written, although somebody listens? That has been told */
int output_is_unread(void);                      /* does nobody listen any more? */
