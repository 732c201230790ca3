/* SPDX-License-Identifier: BSD-3-Clause */
/* A job over the internal bootstrap: every rank puts a short and a long value, fences, and reads everybody's; a
 * second round puts the same keys again with other values. Run under any launcher: boot_ring [--bytes N] [--expect
 * SIZE] [--missing 1] [--die RANK] [--abort RANK] [--late RANK SECONDS] Prints one line per rank, "boot_ring: rank R
 * of S by KIND: ok"; exit 1 on any difference, 3 on an error status. */
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int die_rank = -1, abort_rank = -1, late_rank = -1, late_seconds, expect_size;
static int missing; /* get a key that nobody puts: prints the error */
static size_t long_bytes = 5000;

static void parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const int value = atoi(argv[i + 1]);

        if (strcmp(argv[i], "--bytes") == 0)
            long_bytes = (size_t)value;
        else if (strcmp(argv[i], "--expect") == 0)
            expect_size = value;
        else if (strcmp(argv[i], "--missing") == 0)
            missing = value;
        else if (strcmp(argv[i], "--die") == 0)
            die_rank = value;
        else if (strcmp(argv[i], "--abort") == 0)
            abort_rank = value;
        else if (strcmp(argv[i], "--late") == 0 && i + 2 < argc) {
            late_rank = value;
            late_seconds = atoi(argv[i++ + 2]);
        }
    }
}

/* Bytes that every rank can compute for every rank; zeros and white space among them. */
static void fill(unsigned char *value, size_t bytes, int rank, int round)
{
    for (size_t i = 0; i < bytes; i++)
        value[i] = (unsigned char)(i * 7 + (i >> 8) + (size_t)rank * 13 + (size_t)round * 101);
}

/* As in start-up, much more in the second round: some launchers' stores have the size of the first. */
static size_t bytes_of(int round)
{
    return round ? long_bytes : long_bytes / 100;
}

static hx_status_t round_put(struct hx_boot *boot, int round, unsigned char *value)
{
    const size_t bytes = bytes_of(round);
    char key[32];

    snprintf(key, sizeof key, "long.%d", hx_boot_rank(boot));
    fill(value, bytes, hx_boot_rank(boot), round);
    hx_status_t status = hx_boot_put(boot, key, value, bytes);
    snprintf(key, sizeof key, "empty.%d", hx_boot_rank(boot));
    if (!status)
        status = hx_boot_put(boot, key, "", 0);
    return status;
}

static hx_status_t round_get(struct hx_boot *boot, int round, unsigned char *expected, int *wrong)
{
    for (int rank = 0; rank < hx_boot_size(boot); rank++) {
        char key[32];
        void *value;
        size_t bytes;

        snprintf(key, sizeof key, "long.%d", rank);
        hx_status_t status = hx_boot_get(boot, key, &value, &bytes);
        if (status)
            return status;
        fill(expected, bytes_of(round), rank, round);
        *wrong += bytes != bytes_of(round) || memcmp(value, expected, bytes) != 0;
        free(value);
        snprintf(key, sizeof key, "empty.%d", rank);
        status = hx_boot_get(boot, key, &value, &bytes);
        if (status)
            return status;
        *wrong += bytes != 0;
        free(value);
    }
    return HX_SUCCESS;
}

static hx_status_t run(struct hx_boot *boot, int *wrong)
{
    unsigned char *buffer = malloc(long_bytes + 1);
    hx_status_t status = buffer ? HX_SUCCESS : HX_ERR_NOMEM;

    if (hx_boot_rank(boot) == late_rank)
        sleep((unsigned)late_seconds);
    for (int round = 0; round < 2 && !status; round++) {
        status = round_put(boot, round, buffer);
        if (!status && round == 1 && hx_boot_rank(boot) == die_rank)
            kill(getpid(), SIGKILL);
        if (!status && round == 1 && hx_boot_rank(boot) == abort_rank)
            hx_boot_abort(boot, "asked to");
        if (!status)
            status = hx_boot_fence(boot);
        if (!status)
            status = round_get(boot, round, buffer, wrong);
    }
    free(buffer);
    return status;
}

int main(int argc, char **argv)
{
    struct hx_env env = {0};
    struct hx_boot *boot;
    void *value;
    size_t bytes;
    int wrong = 0;

    parse(argc, argv);
    hx_status_t status = hx_env_load(&env, NULL);
    if (!status)
        status = hx_boot_open(&env, NULL, &boot);
    if (status) {
        hx_env_release(&env);
        return 3;
    }
    hx_log_configure((enum hx_log_level)env.log, hx_boot_rank(boot));
    if (expect_size && hx_boot_size(boot) != expect_size) {
        fprintf(stderr, "boot_ring: %d ranks, expected %d\n", hx_boot_size(boot), expect_size);
        return 1;
    }
    status = run(boot, &wrong);
    if (!status && missing) {
        wrong += hx_boot_get(boot, "nobody", &value, &bytes) != HX_ERR_BOOTSTRAP;
        wrong += hx_boot_get(boot, "nobody.1", &value, &bytes) != HX_ERR_BOOTSTRAP;
    }
    if (!status)
        status = hx_boot_fence(boot);
    if (!status)
        printf("boot_ring: rank %d of %d by %s: %s\n", hx_boot_rank(boot), hx_boot_size(boot), hx_boot_name(boot),
               wrong ? "WRONG" : "ok");
    hx_boot_close(boot, !status);
    hx_env_release(&env);
    return status ? 3 : wrong != 0;
}
