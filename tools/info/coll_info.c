/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info: what Hierax is and sees, here or in a job. All ranks of a job take part; rank 0 prints. */
#include "tools/info/coll_info.h"
#include "tools/common/screen.h"
#include "tools/info/doctor.h"
#include "tools/common/quiet.h"
#include "runtime/base/streams.h"
#include <string.h>

/* Print what the ranks know; every rank has one, and rank 0 prints. The exit status: 1 without one. */
static int document_tell(const struct info_options *o, struct json_object *document, int rank)
{
    if (document && rank == 0 && o->json)
        json_print(document);
    else if (document && rank == 0)
        info_print(document, 0, stdout);
    json_object_put(document);
    return document ? 0 : 1;
}

/* files NULL: those that a job would use here. */
static struct json_object *tables_tell(const char *files)
{
    struct json_object *document = NULL;
    struct hx_env env;

    if (files)
        return info_table(files);
    if (hx_env_load(&env, NULL) == HX_SUCCESS && env.table && env.table[strspn(env.table, ":")])
        document = info_table(env.table);
    else
        fprintf(stderr, "coll_info: --table: name a file or set HX_TABLE: this machine has no site table\n");
    hx_env_release(&env);
    return document;
}

/* Answer a request that does not depend on this job. Returns the exit status. */
static int told_anywhere(const struct info_options *o, hx_status_t started)
{
    if (o->end >= OPTION_HELP)
        return info_options_answer(o);
    if (o->error[0]) {
        fprintf(stderr, "coll_info: %s\n", o->error);
        return 2;
    }
    if (o->algorithms)
        return info_algorithms(o) ? 1 : 0;
    if (!o->files && started == HX_ERR_ENV)
        return 2; /* the table is a setting, and hx_init has reported what is wrong with the settings */
    return document_tell(o, tables_tell(o->files), 0);
}

int main(int argc, char **argv)
{
    struct info_options options;
    hx_comm_t *world = NULL;
    int status = 0;

    hx_streams_hold(O_CLOEXEC);
    screen_open();
    info_options_parse(&options, argc, argv);
    if (options.doctor && options.end == OPTION_GO_ON && !options.error[0])
        return doctor_run(&options); /* a job's ranks meet without hx_init */
    int anywhere = options.end != OPTION_GO_ON || options.algorithms || options.table || options.error[0];
    hx_status_t started = quiet_init(&world);
    if (started != HX_SUCCESS && !anywhere) /* one rank has reported why */
        return started == HX_ERR_ENV || started == HX_ERR_ARG ? 2 : 1;
    if (!anywhere)
        status = document_tell(&options, options.constants ? info_constants(world) : info_all(world), hx_rank(world));
    else if (!world || hx_rank(world) == 0)
        status = told_anywhere(&options, started);
    else
        status = options.error[0] ? 2 : 0;
    if (fflush(stdout) || ferror(stdout)) {
        perror("coll_info: standard output");
        status = 1;
    }
    if (world && hx_finalize() != HX_SUCCESS && status == 0)
        status = 1;
    return status;
}
