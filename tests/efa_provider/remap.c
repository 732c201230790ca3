/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long buffer is freed, mapped again at the same address, filled anew and sent, over and over, while children are
 * forked: what arrives must be what is there now. A device that has kept the old pages sends what was there before.
 * usage: remap ROUNDS
 */
#include <hierax.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 20)
#define COUNT (BYTES / 8)

static uint64_t *fresh(uint64_t *at)
{
    void *memory;

    if (at)
        munmap(at, BYTES);
    memory = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    if (memory == MAP_FAILED)
        exit(2);
    return memory;
}

/* A program that the job starts, say; it is there while the next rounds are played. */
static void child_start(void)
{
    waitpid(-1, NULL, 0); /* the one before */
    if (fork() == 0) {
        usleep(20000);
        _exit(0);
    }
}

int main(int argc, char **argv)
{
    uint64_t *buffer = NULL;
    hx_comm_t *comm;
    int rank, size;

    if (argc != 2 || hx_init(&comm) != HX_SUCCESS)
        return 2;
    rank = hx_rank(comm);
    size = hx_size(comm);
    for (uint64_t round = 0; round < strtoull(argv[1], NULL, 10); round++) {
        int root = (int)(round % (uint64_t)size);
        buffer = fresh(buffer);
        if (round % 50 == 3)
            child_start();
        for (size_t i = 0; rank == root && i < COUNT; i++)
            buffer[i] = round * COUNT + i;
        if (hx_bcast(buffer, COUNT, HX_UINT64, root, comm) != HX_SUCCESS) {
            fprintf(stderr, "round %llu: %s\n", (unsigned long long)round, hx_error_detail(comm));
            return 1;
        }
        for (size_t i = 0; i < COUNT; i++)
            if (buffer[i] != round * COUNT + i) {
                fprintf(stderr, "rank %d: stale: element %zu of round %llu is %llu\n", rank, i,
                        (unsigned long long)round, (unsigned long long)buffer[i]);
                return 1;
            }
    }
    waitpid(-1, NULL, 0);
    if (rank == 0)
        printf("%s rounds, nothing stale\n", argv[1]);
    return hx_finalize() != HX_SUCCESS;
}
