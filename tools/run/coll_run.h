/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run's parts: options (coll_run.c), the ranks of this machine (coll_run_ranks.c), a job of them (coll_run_job.c), cores
 * (coll_run_bind.c), output (coll_run_output.c), the guard (coll_run_guard.c). For --hosts: the job (coll_run_hosts.h), which starts a
 * keeper on each host (coll_run_keeper.c), and their messages (coll_run_frames.c). */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define EXIT_USAGE 2
#define EXIT_TIMEOUT 124 /* as timeout(1) */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

enum bind_mode { BIND_AUTO, BIND_NONE, BIND_CORE };

struct options {
    uint64_t ranks;
    int elastic;
    uint64_t min, max, restarts; /* with elastic */
    const char *nodes; /* NULL: not given */
    const char *hosts, *agent, *root; /* of several hosts; root: the first host's address, NULL: not given */
    const char **settings; /* of --env; n_settings of them */
    int n_settings;
    enum bind_mode bind;
    int prefix;
    double timeout, kill_after; /* seconds; timeout 0: none */
    char **program;             /* argv of the ranks */
};

/* A line on stderr, "coll_run: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names of the variables that coll_run sets for every rank, so that --env cannot; ends with NULL. */
extern const char *const coll_run_own_settings[];

/* 0, or EXIT_NOT_FOUND or EXIT_CANNOT_RUN after a message: this machine cannot run the program. */
int program_check(const char *program);

/* Run the job to its end; returns coll_run's exit status. */
int job_run(const struct options *options);
/* The same on the hosts of --hosts. */
int hosts_run(const struct options *options);
/* The part of that on each host: reads its job from standard input. */
int keeper_run(void);
#define KEEPER_OPTION "--keeper" /* the only argument */

/* Check --hosts, and set the number of ranks. 0, or -1 and error. */
int hosts_check(struct options *options, char *error, size_t bytes);

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

/* One stream of a rank, whose lines are passed on, with --prefix "[rank] " in front, to standard output or standard error. */
struct stream {
    int fd; /* read end of the pipe, non-blocking; -1 when closed */
    int rank;
    struct outlet *to;
    long left_bytes; /* to be read before it is closed; -1: to its end */
    size_t used_bytes;
    char line[4096]; /* an unfinished line; a longer one is passed on in parts */
};
#define OUTLETS 2
#define OWN_POLLS 3
struct output {
    struct stream *streams; /* two for each rank */
    struct pollfd *fds; /* to wait for: OWN_POLLS of the caller's, n + OUTLETS of the streams */
    int n;              /* 0: the ranks write to where coll_run does */
    int next;           /* to be read first */
    int prefix;         /* "[rank] " before each line */
    int lost;           /* a line could not be written, although its reader is still there; coll_run has reported it */
    int unread;         /* the reader of standard output or error has gone */
};
int output_open(struct output *output, int ranks); /* 0, or -1 without memory */
int output_poll(struct output *output);            /* set fds. Returns whether a stream can go on at once, without a wait */
void output_pass(struct output *output);           /* read, and write, what can be without waiting */
void output_end(struct output *output); /* all ranks have ended: the streams end with what they hold now */
int output_goes_on(const struct output *output); /* is there more to come, or kept? */
/* For ranks on other hosts. Is all written? If so, what a rank has written to a stream (0 or 1) may be passed on: at most PART_BYTES,
 * and 0 at its end. */
#define PART_BYTES 2048
int output_is_free(struct output *output);
void output_take(struct output *output, int rank, int stream, const char *bytes, size_t count);

/* The ranks that this process starts on this machine, each in a process group of its own. */
struct ranks {
    const struct options *options;
    int first, n, size; /* ranks first to first + n - 1 of size */
    int input;          /* rank 0's standard input; -1: none */
    int piped;          /* their output comes through pipes */
    int own_files;      /* descriptors that this process needs, besides one for each rank and two for each rank's pipes */
    pid_t *pids;        /* 0: not running */
    int running;
    int signal_fd;
    sigset_t old_mask;
    void (*old_pipe)(int); /* the handler of SIGPIPE before */
    struct rlimit old_files;
    struct cores cores; /* count 0: do not bind */
};
/* 0, or the exit status after a message. */
int ranks_open(struct ranks *ranks);
/* Set the environment of all ranks; HX_RANK is each rank's own. */
void ranks_environment(const struct ranks *ranks, const char *root, const char *secret);
/* Start rank first + idx. joins: it is to join a running job, by HX_STORE. fds: the ends of its pipes to read, if piped, else -1. 0, or -1 and
 * errno. */
int ranks_start(struct ranks *ranks, int idx, int joins, int fds[2]);
void ranks_signal(const struct ranks *ranks, int signal_number);
/* Call ended for each rank that has ended. */
void ranks_collect(struct ranks *ranks, void (*ended)(void *arg, int rank, const siginfo_t *info), void *arg);
void ranks_close(struct ranks *ranks);

/* 64 hexadecimal digits and NUL; 0, or -1 and errno. */
#define SECRET_TEXT_BYTES 65
int secret_make(char secret[SECRET_TEXT_BYTES]);
/* The job's secret: a new one; with HX_STORE the HX_SECRET of coll_run, because processes that join later need the same. */
int secret_find(char secret[SECRET_TEXT_BYTES]);

/* How a job ends, wherever its ranks are. */
#define NEVER 1e300
struct job {
    const struct options *options;
    int ranks, running;
    int status;     /* exit status so far */
    int ending;     /* signals have been sent to all ranks */
    double kill_at; /* SIGKILL for who is left; NEVER: not planned */
    double end_at;  /* --timeout */
    int given_up;   /* no rank runs, and what they have said is not taken */
    int dead_rank;  /* that the store knows of, or -1 */
    void (*signal)(struct job *, int signal_number); /* send to all ranks */
    void (*reap)(struct job *);                      /* a child has ended */
    struct output output;
};
void job_end(struct job *job, int signal_number, int status);
void job_signals(struct job *job, int signal_fd);
void job_time(struct job *job);
double job_until(const struct job *job); /* when job_time has something to do */

/* The messages between coll_run and a keeper: a struct frame in network byte order, then its bytes. */
enum frame_kind {
    /* to the keeper */
    FRAME_JOB = 1, /* texts, each with its NUL: see keeper.c */
    FRAME_STORE,   /* the text of FRAME_LISTENS */
    FRAME_START,
    FRAME_SIGNAL, /* rank: the signal's number */
    FRAME_INPUT,  /* for rank 0; 0 bytes: the end. The next one may follow FRAME_TAKEN */
    /* from the keeper; FRAME_ENDED in both directions */
    FRAME_LISTENS, /* the store listens at this port, and these addresses */
    FRAME_REACHED, /* the store can be reached */
    FRAME_STREAM,  /* of a rank: FRAME_STREAM for standard output, FRAME_STREAM + 1 for standard error */
    FRAME_STREAM_2,
    FRAME_ENDED, /* a rank has ended: pid, si_code, si_status */
    FRAME_STORE_FAILED, /* the store's reason; its first two words are the rank that aborted, and the one that died, or -1 */
    FRAME_TAKEN,
    FRAME_DONE /* all ranks have ended, and their output has been sent */
};
struct frame {
    uint32_t kind, rank, bytes;
};
#define FRAME_MAX_BYTES (1u << 26)
struct channel {
    int in, out; /* non-blocking; -1: closed */
    int greeted; /* the other side's greeting has been read: a login shell may have written something before it */
    char *got, *kept; /* read, and to be written */
    size_t got_bytes, at, kept_bytes, kept_room, got_room;
};
void channel_open(struct channel *channel, int in, int out);
void channel_greet(struct channel *channel);
void channel_send(struct channel *channel, enum frame_kind kind, int rank, const void *value, size_t bytes);
void channel_flush(struct channel *channel); /* write what can be without waiting */
int channel_read(struct channel *channel);   /* read what is there. Returns how much; -1: it has ended */
/* The next whole frame: its value, until the next call of read; NULL: none. If frame->bytes is then above FRAME_MAX_BYTES, it is not a frame. */
const char *channel_next(struct channel *channel, struct frame *frame);
void channel_close(struct channel *channel);

/* The place of the store. The first host's keeper lists its port and addresses; the others choose one that they reach. token: TOKEN_BYTES
 * that keepers know, by which they know each other: an address may be that of another machine too. */
#define TOKEN_BYTES 32
int store_listen(const char *only, char *places, size_t bytes); /* only: this address, or "": all. The socket, or -1 after a message */
#define ASKERS 32
struct askers { /* connections that have not asked yet, of keepers and of strangers; 0: none */
    int fds[ASKERS];
    int next; /* the place of the next connection: it replaces the one that has waited longest */
};
/* Accept connections, and answer those that have asked. Nothing here waits. */
void store_answer(int fd, const char *token, struct askers *askers);
void store_answer_end(struct askers *askers);
int store_reach(const char *places, const char *token, char *root, size_t bytes); /* 0, or -1 after a message */
