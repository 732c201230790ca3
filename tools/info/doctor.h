/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_info --doctor: what its files share.
 *
 *   every rank    examines its process and its node: checks_here, each in a child process of its own with a time limit, so that
 *                 whatever crashes, hangs or is killed there is a finding
 *   fence         all ranks have put what they found, where the job's launcher lets them meet
 *   rank 0        picks one rank of each host, and tells these where the others listen
 *   fence, fence  they have tried to reach each other
 *   rank 0        examines what the ranks told: checks_job; and prints, once what is found alike
 *
 * Nothing of this needs hx_init to work: that is when it is wanted.
 */
#pragma once

#include "tools/info/coll_info.h"
#include "topo/place.h"

#define DOCTOR_TEXT_BYTES 640
#define DOCTOR_ADDRESS_BYTES 64

enum doctor_grade { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_grade grade;
    char text[DOCTOR_TEXT_BYTES];   /* "": nothing found yet */
    char remedy[DOCTOR_TEXT_BYTES]; /* "": that of the check */
};

/* What the checks of one rank learn beside their findings, for each other and for those of the job. */
struct doctor_facts {
    int placed; /* place is valid */
    struct hx_place place;
    uint64_t files;                       /* hard limit on open files: start-up raises the soft one */
    int single_copy;                      /* another process's memory can be read */
    int efa_devices;                      /* in PCI */
    char provider[64], interface[64];     /* chosen; "": none */
    char address[DOCTOR_ADDRESS_BYTES];   /* numeric, of that interface or of the first real one; "": none */
};

struct doctor_check {
    const char *name;
    void (*examine)(struct doctor_facts *, struct doctor_finding *);
    const char *meaning; /* why it matters */
    const char *remedy;  /* the command that mends it, unless the finding has a better one */
};

/* What rank 0 knows of one rank. */
struct doctor_rank {
    struct json_object *told; /* NULL: nothing */
    const char *host;
    int host_idx;             /* its host, counted in order of the lowest rank */
};

struct doctor_job {
    int size, hosts;
    struct doctor_rank *ranks;
    struct json_object *report; /* list of findings, to which the checks add */
    struct json_object *reached; /* by host: what its picked rank found of the others; NULL: not tried */
};

struct doctor_job_check {
    const char *name;
    void (*examine)(const struct doctor_job *, const struct doctor_job_check *);
    const char *meaning, *remedy;
};

extern const struct doctor_check doctor_checks_here[]; /* end with a NULL name */
extern const struct doctor_job_check doctor_checks_job[];

/* Examine, gather, print. Returns the exit status: 0, or 1 if there is a fail. */
int doctor_run(const struct info_options *options);

/* Note what was found. The worst grade wins; what is as bad is told too. remedy: NULL for the check's. */
void doctor_find(struct doctor_finding *f, enum doctor_grade grade, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Run attempt(ctx) in a child process. Returns its result (0 to 250), DOCTOR_KILLED + the signal that ended it,
 * DOCTOR_LATE, or DOCTOR_UNTRIED, with errno, where there can be no child. */
enum { DOCTOR_KILLED = 1000, DOCTOR_LATE = 2000, DOCTOR_UNTRIED = 3000 };
int doctor_try(int (*attempt)(void *), void *ctx, double seconds);
void doctor_find_untried(struct doctor_finding *f); /* by errno */

int doctor_own_rank(void); /* this process's, by its launcher's variables; 0: they do not tell */

/* First line of a file, without the newline; "" if it cannot be read. */
void doctor_read_line(const char *path, char *line, size_t capacity);

/* doctor_env.c: this process's settings that a job's ranks should have alike, as an object. */
struct json_object *doctor_env(void);

/* doctor_report.c */
extern const char *const doctor_grades[];
/* Add a row to the report; ranks: which of the job, NULL for all. */
void doctor_tell(const struct doctor_job *job, const char *name, enum doctor_grade grade, const int *ranks, int n,
                 const char *text, const char *meaning, const char *remedy);
/* The findings of all ranks, those alike in one row. */
void doctor_merge(const struct doctor_job *job);
/* Print; returns the number of fails. */
int doctor_print(const struct doctor_job *job, int json);
const char *doctor_member(struct json_object *object, const char *key); /* its text; "" if there is none */
int64_t doctor_number(struct json_object *object, const char *key);

/* doctor_hosts.c: can the hosts reach each other, and what time is it there? */
int doctor_listen(int *port); /* returns the descriptor, or -1 */
int doctor_serve(int listener); /* a child answers; returns its pid */
/* Ask each of the peers, [{"host", "address", "port"}...]; returns [{"host", "error" or "ms", "offset_s"}...]. */
struct json_object *doctor_reach(struct json_object *peers, int me);

/* the checks, by file */
void doctor_settings(struct doctor_facts *, struct doctor_finding *);    /* doctor_env.c */
void doctor_start(struct doctor_facts *, struct doctor_finding *);
void doctor_provider(struct doctor_facts *, struct doctor_finding *);    /* doctor_network.c */
void doctor_libfabric(struct doctor_facts *, struct doctor_finding *);
void doctor_congestion(struct doctor_facts *, struct doctor_finding *);
void doctor_memlock(struct doctor_facts *, struct doctor_finding *);     /* doctor_machine.c */
void doctor_huge_pages(struct doctor_facts *, struct doctor_finding *);
void doctor_shm(struct doctor_facts *, struct doctor_finding *);
void doctor_memfd(struct doctor_facts *, struct doctor_finding *);       /* doctor_share.c */
void doctor_cma(struct doctor_facts *, struct doctor_finding *);
void doctor_quota(struct doctor_facts *, struct doctor_finding *);       /* doctor_machine.c */
void doctor_pids(struct doctor_facts *, struct doctor_finding *);
void doctor_clock(struct doctor_facts *, struct doctor_finding *);
