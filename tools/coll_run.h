/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run's parts: options (coll_run.c), the job (coll_run_job.c), cores (coll_run_bind.c), output
 * (coll_run_output.c). */
#ifndef COLL_RUN_H
#define COLL_RUN_H
#include <stddef.h>

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

/* Run the job to its end; returns coll_run's exit status. */
int job_run(const struct options *options);

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
void stream_pass(struct stream *stream); /* where nothing is left at to_fd: read once and keep whole lines there; closes at the end */
void stream_last(struct stream *stream); /* nobody writes any more who counts: it ends with what it holds now */
void output_flush(int fd);               /* write what is kept for fd and it takes now */
size_t output_left(int fd);              /* bytes kept */
int output_is_lost(void);                /* could a line not be written, although somebody listens? That has been told */
int output_is_unread(void);              /* does nobody listen any more? */

#endif
