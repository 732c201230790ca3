/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: are they good, and which must a job's ranks have alike? And a start with them, of a job of one rank. */
#include "tools/info/doctor.h"
#include "runtime/base/coll.h"
#include "runtime/base/env_value.h"
#include "runtime/base/trace.h"
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The name of "NAME=value", and its row; NULL: it is not a setting, and error says so. */
static const struct hx_env_row *row_find(const char *assignment, char name[128], char error[OPTION_TEXT_BYTES])
{
    const char *names[HX_ENV_COUNT + 1] = {NULL};

    for (int i = 0; i < HX_ENV_COUNT; i++)
        names[i] = hx_env_rows[i].name;
    snprintf(name, 128, "%.*s", (int)strcspn(assignment, "="), assignment);
    const int idx = option_choose("setting", name, names, error);
    return idx < 0 ? NULL : &hx_env_rows[idx];
}

struct json_object *doctor_env(void)
{
    struct json_object *o = json_object_new_object();
    char error[OPTION_TEXT_BYTES], name[128];

    for (char **entry = environ; entry && *entry; entry++) {
        if (!strchr(*entry, '=') || (strncmp(*entry, "HX_", 3) && strncmp(*entry, "FI_", 3) && strncmp(*entry, "RDMAV_", 6)))
            continue;
        const struct hx_env_row *row = row_find(*entry, name, error);
        if (!row || row->scope == HX_SCOPE_JOB)
            json_add_text(o, name, strchr(*entry, '=') + 1);
    }
    return o;
}

void doctor_settings(struct doctor_exam *exam)
{
    char error[OPTION_TEXT_BYTES], name[128];
    struct hx_env env;

    if (hx_env_load(&env, NULL) != HX_SUCCESS)
        doctor_find(exam, DOCTOR_FAIL, NULL, "%s", hx_last_detail());
    /* can this rank write its file? That of an earlier job may be there, another user's perhaps */
    char *path = env.trace && *env.trace ? hx_trace_path(env.trace, doctor_own_rank(), 0) : NULL;
    if (path && (access(path, F_OK) == 0 ? access(path, W_OK) : access(dirname(path), W_OK | X_OK)) != 0)
        doctor_find(exam, DOCTOR_FAIL, NULL, "HX_TRACE=%s: cannot write this rank's file: %s", env.trace, strerror(errno));
    free(path);
    hx_env_release(&env);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, "HX_", 3) && !row_find(*entry, name, error)) {
            error[strcspn(error, ";")] = 0; /* all the choices are too many */
            doctor_find(exam, DOCTOR_WARN, NULL, "%s", error);
        }
}

void doctor_settings_forget(void)
{
    unsetenv("HX_TRACE"); /* the job's files are not for the doctor to write */
    unsetenv("HX_STATS");
    for (int i = HX_ENV_IDX_allreduce; i < HX_ENV_IDX_allreduce + 3 * HX_COLL_COUNT; i++)
        unsetenv(hx_env_rows[i].name); /* plans for the job's shape: its settings are examined with it */
}

void doctor_start(struct doctor_exam *exam)
{
    static const char *const settings[] = {"HX_BOOTSTRAP=single", "HX_NODES=0", "HX_RING_ORDER=rank", "HX_LOG=error", NULL};
    hx_config_t config = {.settings = settings};
    hx_comm_t *world;

    doctor_settings_forget(); /* this is a process of its own */
    if (hx_init_with(&config, &world) != HX_SUCCESS || hx_barrier(world) != HX_SUCCESS || hx_finalize() != HX_SUCCESS)
        doctor_find(exam, DOCTOR_FAIL, NULL, "hx_init of a job of one rank: %s", hx_last_detail());
}
