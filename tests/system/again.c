/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that starts Hierax again and again. usage:
 *
 * again same ROUNDS KIB                  the launcher's job each time
 * again drawn ROUNDS KIB NUMBER N SEED   one of N processes: each world has some of them, by settings (HX_ROOT, HX_RANK, HX_SIZE)
 * again wrong                            a second hx_init without hx_finalize; calls between two worlds; a child made by fork
 *
 * Memory of the process grows by at most KIB KiB between the worlds WARM and ROUNDS; descriptors, threads and mappings stay. Drawn worlds count
 * after two with several nodes, because the first one loads libfabric.
 */
#include <hierax.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM = 8, MOST = 8, COUNT = 3000 };

#define CHECK(right) check(!!(right), #right, __LINE__)

static int round_no, me;

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "again: process %d, world %d, line %d: not %s; %s\n", me, round_no, line, what, hx_error_detail(NULL));
    exit(1);
}

struct used {
    long kib, descriptors, threads, mappings;
};

static long entries(const char *path)
{
    DIR *directory = opendir(path);
    long n = 0;

    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n;
}

static struct used used_now(void)
{
    struct used used = {.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
    FILE *file = fopen("/proc/self/status", "r");
    char line[512];

    while (file && fgets(line, sizeof(line), file) && sscanf(line, "RssAnon: %ld", &used.kib) != 1)
        ;
    if (file)
        fclose(file);
    file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof(line), file))
        used.mappings += strchr(line, '\n') != NULL;
    if (file)
        fclose(file);
    return used;
}

/* Memory and mappings of the C library's allocator vary a little. */
static void used_compare(const struct used *before, long kib)
{
    const struct used now = used_now();

    printf("process %d: %ld KiB more after %d worlds; descriptors %ld to %ld, threads %ld to %ld, mappings %ld to %ld\n", me,
           now.kib - before->kib, round_no, before->descriptors, now.descriptors, before->threads, now.threads, before->mappings,
           now.mappings);
    fflush(stdout);
    CHECK(now.kib - before->kib <= kib);
    CHECK(now.descriptors <= before->descriptors && now.threads <= before->threads);
    CHECK(now.mappings <= before->mappings + 16);
}

/* Something of everything that a world has. */
static void world_use(hx_comm_t *world)
{
    static int64_t in[COUNT], out[COUNT];
    const int size = hx_size(world);
    hx_comm_t *copy;
    hx_request_t *request;
    void *memory;

    for (int i = 0; i < COUNT; i++)
        in[i] = hx_rank(world) + i;
    CHECK(hx_allreduce(in, out, COUNT, HX_INT64, HX_SUM, world) == HX_SUCCESS);
    CHECK(out[7] == size * (size - 1) / 2 + 7 * size);
    CHECK(hx_comm_dup(world, &copy) == HX_SUCCESS && hx_alloc(copy, 100000, &memory) == HX_SUCCESS);
    CHECK(hx_iallreduce(in, out, 1, HX_INT64, HX_SUM, copy, &request) == HX_SUCCESS && hx_wait(request) == HX_SUCCESS);
    CHECK(out[0] == size * (size - 1) / 2 && hx_barrier(world) == HX_SUCCESS);
    if (round_no % 2) /* else hx_finalize releases these */
        CHECK(hx_free(copy, memory) == HX_SUCCESS && hx_comm_free(copy) == HX_SUCCESS);
}

static void same(int rounds, long kib)
{
    struct used before = {0};
    int rank = -1, size = -1;

    for (round_no = 1; round_no <= rounds; round_no++) {
        hx_comm_t *world;
        CHECK(hx_init(&world) == HX_SUCCESS);
        me = hx_rank(world);
        CHECK(round_no == 1 || (rank == hx_rank(world) && size == hx_size(world)));
        rank = hx_rank(world);
        size = hx_size(world);
        world_use(world);
        CHECK(hx_finalize() == HX_SUCCESS);
        if (round_no == WARM)
            before = used_now();
    }
    round_no--;
    used_compare(&before, kib);
}

/* The same in all processes: which of them are in the next world, in which order. */
static int draw(int n, unsigned *seed, int *members)
{
    int size;

    for (int i = 0; i < n; i++)
        members[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)((*seed = *seed * 1103515245u + 12345u) >> 16) % (i + 1), kept = members[i];
        members[i] = members[k];
        members[k] = kept;
    }
    size = 1 + (int)((*seed = *seed * 1103515245u + 12345u) >> 16) % n;
    return size;
}

static void drawn(int rounds, long kib, int n, unsigned seed)
{
    struct used before = {0};
    int networked = 0;

    for (round_no = 1; round_no <= rounds; round_no++) {
        char root[64], rank[32], size[32], nodes[32];
        const char *settings[] = {root, rank, size, nodes, NULL};
        const hx_config_t config = {.settings = settings};
        int members[MOST], place = 0;
        const unsigned address = seed + (unsigned)round_no;
        const int count = draw(n, &seed, members);
        hx_comm_t *world;
        while (place < count && members[place] != me)
            place++;
        if (round_no >= WARM && networked >= 2 && !before.mappings)
            before = used_now();
        if (place == count)
            continue; /* for the others; a world's store is at an address of its own */
        snprintf(root, sizeof(root), "HX_ROOT=127.%u.%u.%u:6177", 1 + (address >> 16) % 250, (address >> 8) & 0xff, 1 + address % 250);
        snprintf(rank, sizeof(rank), "HX_RANK=%d", place);
        snprintf(size, sizeof(size), "HX_SIZE=%d", count);
        snprintf(nodes, sizeof(nodes), "HX_NODES=%d", count > 1 ? 1 + round_no % 2 : 1);
        CHECK(hx_init_with(&config, &world) == HX_SUCCESS);
        CHECK(hx_rank(world) == place && hx_size(world) == count);
        world_use(world);
        CHECK(hx_finalize() == HX_SUCCESS);
        networked += count > 1 && round_no % 2;
    }
    round_no--;
    if (before.mappings)
        used_compare(&before, kib);
}

static int has(const char *text)
{
    return strstr(hx_error_detail(NULL), text) != NULL;
}

static void wrong(void)
{
    hx_comm_t *world, *second;
    hx_request_t *request;
    int status;

    for (round_no = 1; round_no <= 2; round_no++) {
        CHECK(hx_init(&world) == HX_SUCCESS);
        me = hx_rank(world);
        CHECK(hx_init(&second) == HX_ERR_STATE && !second && has("is started already in this process"));
        CHECK(hx_barrier(world) == HX_SUCCESS && hx_finalize() == HX_SUCCESS);
        CHECK(hx_finalize() == HX_ERR_STATE && has("has been finalized"));
        CHECK(hx_barrier(world) == HX_ERR_STATE && has("has been finalized"));
        CHECK(hx_ibarrier(world, &request) == HX_ERR_STATE && has("has been finalized"));
        if (fork() == 0)
            _exit(hx_init(&second) != HX_ERR_STATE || !has("child made by fork"));
        CHECK(wait(&status) > 0 && status == 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "same"))
        same(atoi(argv[2]), atol(argv[3]));
    else if (argc == 7 && !strcmp(argv[1], "drawn")) {
        me = atoi(argv[4]);
        drawn(atoi(argv[2]), atol(argv[3]), atoi(argv[5]), (unsigned)atoi(argv[6]));
    } else if (argc == 2 && !strcmp(argv[1], "wrong")) {
        wrong();
    } else {
        return 2;
    }
    return 0;
}
