/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that uses memory of hx_alloc.
 * usage: windows move COLLECTIVE | cycle ROUNDS | made | lack RANK | wrong
 *
 * move    large vectors, in and out in memory of hx_alloc, which a child then has too
 * cycle   memory is taken, filled, read by the others and given back: nothing is left of it, neither here nor where it was read
 * made    some ranks make a call ready before the communicator has such memory, some after
 * lack    RANK may have no file of a MiB (ulimit -f): all are told
 * wrong   what is no memory of hx_alloc cannot be given back
 */
#include <hierax.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 20)

static hx_comm_t *world;
static int rank;

static void check(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, hx_error_detail(world));
    exit(1);
}

static long shared_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    long kib = -1;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "RssShmem: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static int descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int n = 0;

    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n;
}

static void cycle(int rounds)
{
    int open_before = 0;
    long before = 0;

    for (int round = 0; round < rounds; round++) {
        int root = round % hx_size(world);
        unsigned char *memory;
        if (round == 10) {
            before = shared_kib();
            open_before = descriptors();
        }
        check(hx_alloc(world, BYTES + (size_t)rank, (void **)&memory) == HX_SUCCESS, "hx_alloc");
        check(memory[0] == 0 && memory[BYTES - 1] == 0, "memory that is not 0");
        memset(memory, rank == root ? 1 + round % 200 : 0, BYTES);
        check(hx_bcast(memory, BYTES, HX_BYTE, root, world) == HX_SUCCESS, "hx_bcast");
        for (size_t i = 0; i < BYTES; i++)
            check(memory[i] == 1 + round % 200, "another's memory");
        check(hx_free(world, memory) == HX_SUCCESS, "hx_free");
    }
    check(hx_barrier(world) == HX_SUCCESS, "hx_barrier");
    check(descriptors() == open_before, "descriptors were left open");
    check(shared_kib() - before < 4096, "memory has grown");
}

static hx_status_t call(const char *name, const float *in, float *out, size_t n)
{
    size_t part = n / (size_t)hx_size(world);

    if (!strcmp(name, "allreduce"))
        return hx_allreduce(in, out, n, HX_FLOAT32, HX_SUM, world);
    if (!strcmp(name, "reduce_scatter_block"))
        return hx_reduce_scatter_block(in, out, part, HX_FLOAT32, HX_SUM, world);
    if (!strcmp(name, "allgather"))
        return hx_allgather(in, out, part, HX_FLOAT32, world);
    if (!strcmp(name, "bcast"))
        return hx_bcast(out, n, HX_FLOAT32, 0, world);
    if (!strcmp(name, "reduce"))
        return hx_reduce(in, out, n, HX_FLOAT32, HX_SUM, 0, world);
    if (!strcmp(name, "gather"))
        return hx_gather(in, out, part, HX_FLOAT32, 0, world);
    if (!strcmp(name, "scatter"))
        return hx_scatter(in, out, part, HX_FLOAT32, 0, world);
    return hx_alltoall(in, out, part, HX_FLOAT32, world);
}

/* Whatever the collective, the ranks' vectors are alike, and so the blocks are where they are looked for. */
static void move(const char *name)
{
    size_t size = (size_t)hx_size(world), part = 4 * BYTES / sizeof(float) / size, n = part * size;
    int sums = strstr(name, "reduce") != NULL, scatters = strstr(name, "scatter") != NULL;
    int gets = rank == 0 || (strcmp(name, "reduce") && strcmp(name, "gather"));
    float *in, *out;

    check(hx_alloc(world, n * sizeof(float), (void **)&in) == HX_SUCCESS && hx_alloc(world, n * sizeof(float), (void **)&out) == HX_SUCCESS,
          "hx_alloc");
    for (int round = 1; round <= 5; round++) {
        for (size_t i = 0; i < n; i++)
            in[i] = (float)(round + (int)(i % part) % 1000);
        if (!strcmp(name, "bcast") && rank == 0)
            memcpy(out, in, n * sizeof(float));
        check(call(name, in, out, n) == HX_SUCCESS, name);
        for (size_t i = 0; gets && i < (scatters ? part : n); i++)
            check(out[i] == in[i % part] * (float)(sums ? hx_size(world) : 1), name);
    }
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(in[0] == 5 && in[n - 1] == (float)(5 + (int)(part - 1) % 1000) ? 0 : 1);
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child that reads it");
}

static void made(void)
{
    size_t n = BYTES / sizeof(float);
    float *in = malloc(BYTES), *out = malloc(BYTES);
    hx_request_t *early, *late;
    void *memory;

    check(in && out, "malloc");
    for (int i = 0; i < 2; i++) {
        if (i == rank % 2)
            check(hx_allreduce_init(in, out, n, HX_FLOAT32, HX_SUM, world, &early) == HX_SUCCESS, "hx_allreduce_init");
        if (i == 0)
            check(hx_alloc(world, BYTES, &memory) == HX_SUCCESS, "hx_alloc");
    }
    check(hx_allreduce_init(memory, HX_IN_PLACE, n, HX_FLOAT32, HX_SUM, world, &late) == HX_ERR_ARG, "out in place");
    check(hx_allreduce_init(HX_IN_PLACE, memory, n, HX_FLOAT32, HX_SUM, world, &late) == HX_SUCCESS, "hx_allreduce_init, in place");
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < n; i++)
            in[i] = ((float *)memory)[i] = (float)(round + (int)i % 1000);
        check(hx_start(early) == HX_SUCCESS && hx_start(late) == HX_SUCCESS, "hx_start");
        check(hx_wait(late) == HX_SUCCESS && hx_wait(early) == HX_SUCCESS, "hx_wait");
        for (size_t i = 0; i < n; i++)
            check(out[i] == in[i] * (float)hx_size(world) && ((float *)memory)[i] == out[i], "the sum");
    }
    check(hx_request_free(early) == HX_SUCCESS && hx_request_free(late) == HX_SUCCESS, "hx_request_free");
    free(in);
    free(out);
}

static void lack(int of)
{
    struct rlimit limit = {BYTES / 2, RLIM_INFINITY};
    void *memory = world;
    char text[64];

    if (rank == of)
        setrlimit(RLIMIT_FSIZE, &limit);
    check(hx_alloc(world, BYTES, &memory) == HX_ERR_NOMEM && !memory, "hx_alloc");
    snprintf(text, sizeof(text), rank == of ? "ulimit -f" : "rank %d has no memory", of);
    check(strstr(hx_error_detail(world), text) != NULL, text);
    check(hx_alloc(world, BYTES / 4, &memory) == HX_SUCCESS && memory, "hx_alloc of less"); /* it goes with hx_finalize */
    check(hx_allreduce(HX_IN_PLACE, memory, BYTES / 16, HX_FLOAT32, HX_SUM, world) == HX_SUCCESS, "hx_allreduce");
}

static void wrong(void)
{
    void *memory, *nothing = world;

    check(hx_alloc(NULL, 1, &memory) == HX_ERR_ARG, "no communicator");
    check(hx_alloc(world, 1, NULL) == HX_ERR_ARG, "nowhere to tell");
    check(hx_alloc(world, SIZE_MAX - 5, &memory) == HX_ERR_ARG && strstr(hx_error_detail(world), "address space"), "too many bytes");
    check(hx_alloc(world, rank == 0 ? 0 : 10, &nothing) == HX_SUCCESS && (nothing != NULL) == (rank != 0), "no bytes");
    check(hx_free(world, nothing) == HX_SUCCESS, "hx_free of these");
    check(hx_alloc(world, 10, &memory) == HX_SUCCESS, "hx_alloc");
    check(hx_free(world, (char *)memory + 1) == HX_ERR_ARG && strstr(hx_error_detail(world), "is not a pointer from hx_alloc"), "from within");
    check(hx_free(world, &memory) == HX_ERR_ARG, "of the stack");
    check(hx_free(world, memory) == HX_SUCCESS, "hx_free");
    check(hx_free(world, memory) == HX_ERR_ARG, "twice");
    check(hx_free(world, NULL) == HX_SUCCESS, "of NULL");
    check(hx_free(NULL, &memory) == HX_ERR_ARG, "of no communicator");
}

int main(int argc, char **argv)
{
    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    rank = hx_rank(world);
    if (argc == 3 && !strcmp(argv[1], "move"))
        move(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "cycle"))
        cycle(atoi(argv[2]));
    else if (argc == 2 && !strcmp(argv[1], "made"))
        made();
    else if (argc == 3 && !strcmp(argv[1], "lack"))
        lack(atoi(argv[2]));
    else if (argc == 2 && !strcmp(argv[1], "wrong"))
        wrong();
    else
        return 2;
    check(hx_finalize() == HX_SUCCESS, "hx_finalize");
    return 0;
}
