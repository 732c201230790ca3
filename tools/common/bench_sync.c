/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of one machine share a page of the benchmark's own, so that the library under test has no part in when they
 * start:
 *
 *     all arrive (counter)  ->  the last one writes start = now + 1 us  ->  everybody looks at the clock until then
 *
 * With more ranks than cores they cannot all look: start = now, and a rank that has to wait for a core is late.
 *
 * The same page carries two measurements between two ranks: an exchange of cache lines, and reading what another
 * core has just written. On several machines, or if the page cannot be shared, the ranks agree on the moment by
 * clocks (bench_clock.c).
 */
#include "tools/common/bench_backend.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_NAME "coll_bench"
#define REGION_WORDS 32768 /* 256 KiB */
#define HOP_ROUNDS 20000
#define HOP_BATCH 500
#define CPU_WORDS 128 /* of 64 CPUs: no kernel has more */
#define LOOKS_BEFORE_YIELD 2000 /* with a core for each rank */
#define START_AFTER_NS 1000
#define PROGRESS_AFTER_NS 1e6
#define MATES_AFTER_LOOKS 1000 /* of those */

struct page {
    uint64_t nonce;
    _Alignas(128) _Atomic uint64_t arrived;
    _Alignas(128) _Atomic uint64_t released;
    double start_ns; /* written before released */
    struct {
        _Alignas(128) _Atomic uint64_t round;
    } hop[2][2]; /* [round % 2][rank] */
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
    double hop_ns, dirty_gbps;
    _Alignas(4096) uint64_t region[REGION_WORDS];
};

struct place { /* gathered as 64-bit words */
    uint64_t host, kernel, pid, fd, nonce, cpus[CPU_WORDS];
};

static struct page *page;
static uint64_t generation;
static struct { /* ranks of this machine whose processes are visible: some launchers do not report the end of one of them */
    int rank;
    pid_t pid;
} *mates;
static int nmates;
static unsigned looks_before_yield = LOOKS_BEFORE_YIELD;

/* A process that has ended runs no program any more, even if its parent has not waited for it yet. */
static void mates_look(void)
{
    char path[64], program[1];

    for (int i = 0; i < nmates; i++) {
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)mates[i].pid);
        if (readlink(path, program, sizeof(program)) < 0 && (errno == ENOENT || errno == ESRCH)) {
            fprintf(stderr, "%s: rank %d has ended\n", bench_backend_tool, mates[i].rank);
            bench_backend_abort(1);
        }
    }
}

/* The library has no part in a wait, unless that is long: another rank may need data that this rank's library still has to send. */
static void look_again(unsigned *looks, double *progress_ns)
{
    if (++*looks % looks_before_yield == 0) {
        double now = 1e9 * hx_now_s();
        if (*progress_ns == 0)
            *progress_ns = now + PROGRESS_AFTER_NS;
        if (now > *progress_ns) {
            static unsigned waits;
            bench_backend_progress();
            if (++waits % MATES_AFTER_LOOKS == 0)
                mates_look();
            *progress_ns = now + PROGRESS_AFTER_NS;
        }
        sched_yield();
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* acquire: pairs with the release stores of bench_start_together, measure_hop and measure_dirty */
static void await(_Atomic uint64_t *word, uint64_t at_least)
{
    unsigned looks = 0;
    double progress_ns = 0;
    while (atomic_load_explicit(word, memory_order_acquire) < at_least)
        look_again(&looks, &progress_ns);
}

double bench_start_together(const struct bench_job *job)
{
    if (!page || job->machines > 1)
        return bench_clock_start(job);
    generation++;
    if (atomic_fetch_add_explicit(&page->arrived, 1, memory_order_acq_rel) + 1
        == generation * (uint64_t)job->local_size) {
        page->start_ns = 1e9 * hx_now_s() + (job->oversubscribed ? 0 : START_AFTER_NS);
        atomic_store_explicit(&page->released, generation, memory_order_release); /* acquire: await */
    } else {
        await(&page->released, generation);
    }
    double start = page->start_ns;
    while (1e9 * hx_now_s() < start)
        ;
    return start;
}

/* Both write a line of their own and read the other's. Two lines each, in turn: while one rank reads round i, the other
 * may already write round i + 1, but not i + 2. A ping-pong would also count how slowly a waiting core notices. */
static void measure_hop(int first)
{
    double best = 1e9;
    for (uint64_t i = 1; i <= HOP_ROUNDS;) {
        double begin = 1e9 * hx_now_s();
        for (int k = 0; k < HOP_BATCH; k++, i++) {
            atomic_store_explicit(&page->hop[i % 2][first].round, i, memory_order_release); /* acquire: await */
            await(&page->hop[i % 2][!first].round, i);
        }
        double ns = (1e9 * hx_now_s() - begin) / HOP_BATCH;
        best = ns < best ? ns : best;
    }
    if (first)
        page->hop_ns = best;
}

/* A word of each cache line: no more is needed for all of it to come, and more lines are under way at once. */
static uint64_t read_all(const uint64_t *words, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += 64 / sizeof(*words))
        sum ^= words[i];
    return sum;
}

/* The first rank writes, the second reads and times it. The fastest of all sizes and rounds, for a lower bound. */
static void measure_dirty(int first)
{
    uint64_t turn = 0;
    double best = 0;
    for (size_t n = 512; n <= REGION_WORDS; n *= 8) {
        for (int round = 0; round < 40; round++) {
            turn++;
            if (first) {
                for (size_t i = 0; i < n; i++)
                    page->region[i] = turn + i;
                atomic_store_explicit(&page->ping, turn, memory_order_release); /* acquire: await */
                await(&page->pong, turn);
                continue;
            }
            await(&page->ping, turn);
            double begin = 1e9 * hx_now_s();
            uint64_t sum = read_all(page->region, n);
            __asm__ volatile("" : : "r"(sum)); /* the sum has a reader */
            double gbps = (double)(n * 8) / (1e9 * hx_now_s() - begin);
            best = gbps > best ? gbps : best;
            atomic_store_explicit(&page->pong, turn, memory_order_release); /* acquire: await */
        }
    }
    if (!first)
        page->dirty_gbps = best;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Hosts made of namespaces have their own names but share the kernel, and with it the cores. */
static uint64_t kernel_id(void)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(id, sizeof(id), f))
        gethostname(id, sizeof(id) - 1);
    if (f)
        fclose(f);
    return hash_text(0xcbf29ce484222325u, id);
}

static struct page *map_page(int fd)
{
    void *p = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Every rank offers a page; that of the lowest rank of a machine is used. */
static int offer(struct place *mine, int rank)
{
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    memset(mine, 0, sizeof(*mine));
    mine->kernel = kernel_id();
    mine->host = hash_text(mine->kernel, name);
    mine->pid = (uint64_t)getpid();
    mine->nonce = hx_now_ns() ^ (uint64_t)getpid() << 40 ^ (uint64_t)rank << 20;
    if (sched_getaffinity(0, sizeof(mine->cpus), (cpu_set_t *)(void *)mine->cpus) < 0)
        mine->cpus[0] = 1; /* some */
    int fd = memfd_create(MEMORY_NAME, MFD_CLOEXEC);
    mine->fd = (uint64_t)fd;
    if (fd >= 0 && ftruncate(fd, sizeof(struct page)) == 0) {
        struct page *p = map_page(fd);
        if (p) {
            p->nonce = mine->nonce;
            munmap(p, sizeof(*p));
        }
    }
    return fd;
}

static struct page *accept_page(const struct place *owner)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%llu/fd/%llu", (unsigned long long)owner->pid, (unsigned long long)owner->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct page *p = fd >= 0 ? map_page(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (p && p->nonce != owner->nonce) { /* another process has this number in our view */
        munmap(p, sizeof(*p));
        p = NULL;
    }
    return p;
}

/* A process of this number may be another one, in our view: that of a rank has the file that it offers. */
static void mate_add(const struct place *place, int rank)
{
    char path[64], target[64];

    snprintf(path, sizeof(path), "/proc/%llu/fd/%llu", (unsigned long long)place->pid, (unsigned long long)place->fd);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = 0;
    if (strncmp(target, "/memfd:" MEMORY_NAME, strlen("/memfd:" MEMORY_NAME)) == 0) {
        mates[nmates].rank = rank;
        mates[nmates++].pid = (pid_t)place->pid;
    }
}

/* Returns the lowest rank of this machine. */
static int survey(const struct place *places, const struct place *mine, struct bench_job *job)
{
    uint64_t cpus[CPU_WORDS] = {0};
    int owner = -1;
    for (int r = 0; r < job->size; r++) {
        if (places[r].kernel != mine->kernel)
            continue;
        job->sharing++;
        for (int w = 0; w < CPU_WORDS; w++)
            cpus[w] |= places[r].cpus[w];
        if (places[r].host != mine->host)
            continue;
        if (owner < 0)
            owner = r;
        if (r == job->rank)
            job->local_rank = job->local_size;
        else if (mates)
            mate_add(&places[r], r);
        job->local_size++;
    }
    for (int w = 0; w < CPU_WORDS; w++)
        job->cpus += __builtin_popcountll(cpus[w]);
    return owner;
}

/* Facts about a rank's machine that all ranks must know. */
struct verdict {
    uint64_t machine, node, oversubscribed, shared; /* machine: the lowest rank there */
};

/* Ranks of the node of rank r if it is their lowest; else 0. */
static int node_size(const struct verdict *all, int size, int r)
{
    int n = 0;

    for (int q = 0; q < size; q++)
        if (all[q].machine == all[r].machine && all[q].node == all[r].node) {
            if (q < r)
                return 0;
            n++;
        }
    return n;
}

static int agree(struct bench_job *job, int owner)
{
    job->machine = owner;
    job->node = bench_backend_node(job->rank, job->size);
    struct verdict mine = {.machine = (uint64_t)owner, .node = (uint64_t)job->node,
                           .oversubscribed = job->sharing > job->cpus, .shared = page != NULL};
    struct verdict *all = calloc((size_t)job->size, sizeof(*all));
    int failed = !all || bench_allgather(&mine, all, sizeof(mine) / 8, HX_UINT64);
    int shared = 1;
    for (int r = 0; !failed && r < job->size; r++) {
        int n = node_size(all, job->size, r);
        job->machines += all[r].machine == (uint64_t)r;
        job->nodes += n > 0;
        job->max_local = n > job->max_local ? n : job->max_local;
        job->oversubscribed |= (int)all[r].oversubscribed;
        shared &= (int)all[r].shared;
    }
    if (!shared)
        bench_job_close();
    free(all);
    return failed ? -1 : 0;
}

static double clock_reading_ns(void)
{
    double best = 1e9;
    for (int i = 0; i < 2000; i++) {
        double begin = 1e9 * hx_now_s(), ns = 1e9 * hx_now_s() - begin;
        best = ns > 0 && ns < best ? ns : best;
    }
    return best;
}

int bench_job_open(struct bench_job *job)
{
    struct place mine, *places = calloc((size_t)job->size, sizeof(*places));
    mates = calloc((size_t)job->size, sizeof(*mates));
    int fd = offer(&mine, job->rank), owner = -1;
    job->kernel = mine.kernel;
    int failed = !places || bench_allgather(&mine, places, sizeof(mine) / 8, HX_UINT64);
    if (!failed) {
        owner = survey(places, &mine, job);
        page = accept_page(&places[owner]);
        failed = agree(job, owner); /* the offered descriptors must stay open until here */
    }
    if (fd >= 0)
        close(fd);
    free(places);
    if (failed)
        return -1;
    job->clock_ns = clock_reading_ns();
    looks_before_yield = job->oversubscribed ? 1 : LOOKS_BEFORE_YIELD;
    /* on rank 0's machine only, as rank 0 reports it */
    if (owner == 0 && page && !job->oversubscribed && job->local_rank < 2 && job->local_size > 1) {
        measure_hop(job->local_rank == 0);
        measure_dirty(job->local_rank == 0);
    }
    if (bench_barrier() || bench_clock_open(job))
        return -1;
    if (page) {
        job->hop_ns = page->hop_ns;
        job->dirty_gbps = page->dirty_gbps;
    }
    return bench_backend_network(job->network, sizeof(job->network)) || bench_backend_constants(&job->constants) ? -1 : 0;
}

void bench_job_close(void)
{
    if (page)
        munmap(page, sizeof(*page));
    page = NULL;
    free(mates);
    mates = NULL;
    nmates = 0;
}
