/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_info --doctor: what its files share.
 *
 *   every rank    examines its process and its node: each check runs in a child process of its own with a time limit, so that
 *                 a crash, a hang or a kill there is a finding
 *   fence         all ranks have put their findings, if the job's launcher lets them meet
 *   fence         no rank leaves it before all have entered it, which bounds how far their clocks are apart
 *   rank 0        picks one rank of each host, and sends these the addresses of the others
 *   fence, fence  they have tried to reach each other
 *   rank 0        examines all findings, host by host and of the whole job; and prints equal findings once
 *
 * Nothing of this needs hx_init to work: users want it when hx_init fails.
 */
#pragma once

#include "runtime/base/error.h"
#include "tools/info/coll_info.h"
#include "topo/place.h"

#define DOCTOR_CHECKS_MAX 32
#define DOCTOR_TEXT_BYTES 640
#define DOCTOR_ADDRESS_BYTES 64

enum doctor_grade { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_grade grade;
    char text[DOCTOR_TEXT_BYTES];   /* "": nothing found yet */
    char remedy[DOCTOR_TEXT_BYTES]; /* "": that of the check */
};

/* The findings of one rank, and facts that its checks learn beside that, for each other and for the checks of the job. */
struct doctor_exam {
    struct hx_place place;              /* zeros but for the hostname: hwloc cannot tell */
    int single_copy;                    /* another process's memory can be read */
    int efa_devices;                    /* in PCI */
    int is_tcp, pins;                   /* the network in use is TCP; needs locked memory */
    char provider[64];                  /* chosen; "": none */
    char address[DOCTOR_ADDRESS_BYTES]; /* numeric, of that provider's interface or of the first real one; "": none */
    const char *under_way;              /* for people */
    int check;                          /* under way */
    struct doctor_finding findings[DOCTOR_CHECKS_MAX];
};

struct doctor_job {
    struct hx_boot *boot; /* NULL: this rank is alone */
    int rank, size, hosts;
    char failed[HX_DETAIL_BYTES];     /* the failure in the ranks' meeting; "": none */
    struct json_object **told;        /* by rank; NULL: nothing */
    int *host_of;                     /* by rank: its host, counted in order of the lowest rank */
    int *list;                        /* room for the ranks that a check tells of */
    struct json_object *reached;      /* by host: {"rank", "host", "asked": how many, "lost": [{"host", "address",
                                       * "error"}...], "entered_ns" and "left_ns": the fence}; NULL: not tried */
    const struct doctor_check *check; /* under way */
    struct json_object *report;       /* rows of {check, grade, ranks, hosts, found, meaning, remedy} */
};

struct doctor_host {
    int *ranks, n; /* those with findings, ascending */
    int ncpus;     /* on which any of them may run */
    double quota;
};

typedef void doctor_of_rank_t(struct doctor_exam *);
typedef void doctor_of_host_t(struct doctor_job *, const struct doctor_host *);
typedef void doctor_of_job_t(struct doctor_job *);

/* One of rank, host and job is set. rank looks at this process, host at the ranks of each host, job at all ranks' findings. */
struct doctor_check {
    const char *name;
    const char *meaning; /* why it matters */
    const char *remedy;  /* the command that mends it, unless the finding has a better one */
    const char *fine;    /* printed if nothing is found; NULL: the check prints its own text */
    doctor_of_rank_t *rank;
    doctor_of_host_t *host;
    doctor_of_job_t *job;
};

/* ---- doctor.c */

/* Examine, gather, print. Returns the exit status: 0, or 1 if there is a fail. */
int doctor_run(const struct info_options *options);
int doctor_own_rank(void); /* this process's, by its launcher's variables; 0: they do not tell */

/* ---- doctor_checks.c: the table */

void doctor_examine(struct doctor_exam *exam);
struct json_object *doctor_findings(const struct doctor_exam *exam); /* by check: {grade, text, remedy} */
int doctor_report(struct doctor_job *job, int json);                 /* print what all found; returns the number of fails */

/* Note a finding of the running check. The worst grade wins; findings of one grade are all reported. remedy: NULL for the check's. */
void doctor_find(struct doctor_exam *exam, enum doctor_grade grade, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Add what it has found of the job to the report. ranks: which have it, NULL for all. */
void doctor_tell(struct doctor_job *job, enum doctor_grade grade, const int *ranks, int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Run attempt(ctx) in a child process. Returns its result (0 to 250), or DOCTOR_KILLED + the signal that ended it, which is SIGALRM
 * after so many seconds. -1: there can be no child; that has been noted. */
enum { DOCTOR_KILLED = 1000 };
int doctor_try(struct doctor_exam *exam, int (*attempt)(void *), void *ctx, unsigned seconds);

/* First line of dir/file, without the newline; "" if it cannot be read. */
void doctor_read_line(const char *dir, const char *file, char *line, int capacity_bytes);

/* The number behind "Key:" in /proc/self/status; 0 if there is none. doctor_machine.c. */
unsigned long long doctor_status(const char *key, int base);

/* ---- doctor_env.c: this process's settings that a job's ranks should have alike, as an object */
struct json_object *doctor_env(void);

/* ---- the checks, by file: env, network, machine, share, job */

doctor_of_rank_t doctor_settings, doctor_start;
doctor_of_rank_t doctor_libfabric, doctor_provider, doctor_congestion;
doctor_of_rank_t doctor_memlock, doctor_huge_pages, doctor_shm, doctor_quota, doctor_pids, doctor_clock;
doctor_of_rank_t doctor_memfd, doctor_cma;
doctor_of_host_t doctor_cores, doctor_pinning, doctor_memory, doctor_files;
doctor_of_job_t doctor_launcher, doctor_job_settings, doctor_environment, doctor_alike, doctor_firewall, doctor_time;
