/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that go on after hosts are lost, or after the network has parted, if they may. Usage: parted FOLDER COUNT
 *
 * Ranks make all-reduces of COUNT doubles. After one has failed they revoke, shrink, and make all-reduces again. Each rank writes the outcome
 * to FOLDER/rank.R: "goes on with N ranks after M ms", or "stops: STATUS DETAIL". FOLDER/lost has the time of the loss, in seconds since the
 * machine has started. Results go to files, because a lost host reaches no terminal.
 */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 20 /* after the loss */

static int me, count;
static const char *folder;

static void say(const char *text)
{
    char path[4096], whole[4096 + 8];
    FILE *file;

    snprintf(path, sizeof(path), "%s/rank.%d", folder, me);
    snprintf(whole, sizeof(whole), "%s.new", path);
    if (!(file = fopen(whole, "w")) || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0 || rename(whole, path) != 0)
        perror(path);
}

static double ms_since_loss(void)
{
    char path[4096];
    struct timespec now;
    double lost = 0;
    FILE *file;

    clock_gettime(CLOCK_BOOTTIME, &now);
    snprintf(path, sizeof(path), "%s/lost", folder);
    if (!(file = fopen(path, "r")) || fscanf(file, "%lf", &lost) != 1)
        perror(path);
    if (file)
        fclose(file);
    return 1e3 * ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec - lost);
}

static hx_status_t sum(hx_comm_t *comm)
{
    static double *in, *out;
    hx_status_t status;

    if (!in && (!(in = malloc(sizeof(*in) * (size_t)count)) || !(out = malloc(sizeof(*out) * (size_t)count))))
        exit(1);
    for (int i = 0; i < count; i++)
        in[i] = i;
    status = hx_allreduce(in, out, (size_t)count, HX_FLOAT64, HX_SUM, comm);
    for (int i = 0; status == HX_SUCCESS && i < count; i++)
        if (out[i] != (double)i * hx_size(comm)) {
            say("a sum is wrong");
            _exit(1);
        }
    return status;
}

static void stop(hx_status_t status, hx_comm_t *comm)
{
    char text[2048];

    snprintf(text, sizeof(text), "stops: %.*s %s", (int)strcspn(hx_strerror(status), ":"), hx_strerror(status), hx_error_detail(comm));
    say(text);
    _exit(0);
}

int main(int argc, char **argv)
{
    hx_comm_t *comm, *next;
    char text[100] = "";
    hx_status_t status;

    if (argc != 3)
        return 2;
    folder = argv[1];
    count = atoi(argv[2]);
    if (hx_init(&comm) != HX_SUCCESS)
        return 1;
    me = hx_rank(comm);
    say("runs");
    while (sum(comm) == HX_SUCCESS)
        ;
    for (int steps = 0; steps < STEPS;) {
        hx_comm_revoke(comm);
        if ((status = hx_comm_shrink(comm, &next)) != HX_SUCCESS)
            stop(status, comm);
        comm = next;
        for (steps = 0; steps < STEPS && sum(comm) == HX_SUCCESS; steps++)
            if (steps == 0)
                snprintf(text, sizeof(text), "goes on with %d ranks after %.0f ms", hx_size(comm), ms_since_loss());
    }
    say(text);
    hx_finalize();
    _exit(0);
}
