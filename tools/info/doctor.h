/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_info --doctor: what its files share.
 *
 *   every rank    examines its process and its node: each check runs in a child process of its own with a time limit, so that
 *                 a crash, a hang or a kill there is a finding
 *   fence         all ranks begin to compute for a while, to see whether they have their cores for themselves
 *   fence         all ranks have put their findings, if the job's launcher lets them meet
 *   fence         no rank leaves it before all have entered it, which bounds how far their clocks are apart
 *   rank 0        picks one rank of each host, and sends these the addresses of the others
 *   fence, fence  they have tried to reach each other
 *   rank 0        examines all findings, host by host and of the whole job; and prints equal findings once
 *   all ranks     if nothing has failed so far: start Hierax, and measure the links between the hosts
 *
 * Nothing before that needs hx_init to work: users want it when hx_init fails.
 */
#pragma once

#include "runtime/base/error.h"
#include "tools/info/coll_info.h"
#include "topo/nic.h"

#define DOCTOR_CHECKS_MAX 32
#define DOCTOR_TEXT_BYTES 640
#define DOCTOR_ADDRESS_BYTES 64

enum doctor_grade { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_grade grade;
    char text[DOCTOR_TEXT_BYTES];   /* "": nothing found yet */
    char remedy[DOCTOR_TEXT_BYTES]; /* "": that of the check */
};

struct doctor_spin { /* of a rank that computed for some time */
    int cpu;          /* processing unit */
    double got;       /* part of the time that it ran */
    double delay_ms;  /* how long it waited for the processing unit */
    long switches;    /* involuntary context switches */
    int is_busy;      /* something else ran there all the time */
    int rival;        /* the pid of that; 0: /proc does not show it */
    double rival_got;
    char command[64];
};

/* The findings of one rank, and facts that its checks learn beside that, for each other and for the checks of the job. */
struct doctor_exam {
    struct hx_place place;              /* zeros but for hostname and numa_os: hwloc cannot tell */
    struct hx_nic nic;                  /* name "": none; name and PCI address of the interface in use */
    int memory_numa, nic_numa;          /* the kernel's numbers of NUMA nodes; -1: unknown, or several */
    int nic_cpus;                       /* processing units of this process's cpuset in nic_numa */
    struct doctor_spin spin;
    int single_copy;                    /* another process's memory can be read */
    int efa_devices;                    /* in PCI */
    int is_tcp, pins;                   /* the network in use is TCP; needs locked memory */
    uint64_t pinned_bytes;              /* that a rank's endpoints need; 0: not known */
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
    const char **under_way;           /* that of the exam */
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
int doctor_agree(struct doctor_job *job, int value); /* rank 0's value, on all ranks; -1 after an error of the meeting */
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

int doctor_fails(const struct doctor_job *job); /* the number of them in the report so far */

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

void doctor_settings_forget(void); /* those that are for the job only, before a start of Hierax */

/* ---- doctor_busy.c: compute for a while, all ranks at once, and see how much of the time this rank gets */
void doctor_spin(struct doctor_spin *spin);

/* ---- doctor_job.c: have the hosts' ranks tried to reach each other? If not, tell why there is nothing to tell */
int doctor_is_reached(struct doctor_job *job, const char *what);

/* ---- the checks, by file: env, network, machine, share, job, busy, links */

doctor_of_rank_t doctor_settings, doctor_start;
doctor_of_rank_t doctor_libfabric, doctor_provider, doctor_congestion;
doctor_of_rank_t doctor_memlock, doctor_huge_pages, doctor_shm, doctor_quota, doctor_pids, doctor_clock;
doctor_of_rank_t doctor_memfd, doctor_cma;
doctor_of_host_t doctor_cores, doctor_pinning, doctor_numa, doctor_memory, doctor_files, doctor_busy;
doctor_of_job_t doctor_launcher, doctor_job_settings, doctor_environment, doctor_alike, doctor_firewall, doctor_time;
doctor_of_job_t doctor_links; /* rank 0 by the table, other ranks after they have met */
