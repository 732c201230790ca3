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

/* One stream of a rank, whose lines are passed on with "[rank] " in front. */
struct stream {
    int fd; /* read end of the pipe, non-blocking; -1 when closed */
    int rank, to_fd;
    size_t used_bytes;
    char line[4096]; /* an unfinished line; a longer one is passed on in parts */
};
void stream_pass(struct stream *stream);  /* read what is there and pass on whole lines; closes at the end of file */
void stream_close(struct stream *stream); /* pass on the rest */
int output_is_lost(void);                 /* could a line not be written, although somebody listens? That has been told */

#endif
