/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine and the settings of a report. */
#include "tools/common/bench.h"
#include "topo/cpu_model.h"
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

const char *bench_machine(char text[BENCH_TEXT_BYTES])
{
    struct utsname kernel = {0};
    char model[HX_CPU_MODEL_BYTES];

    uname(&kernel);
    hx_cpu_model(model);
    snprintf(text, BENCH_TEXT_BYTES, "%s; %ld processing units; %s %s %s", model, sysconf(_SC_NPROCESSORS_CONF),
             kernel.sysname, kernel.release, kernel.machine);
    return text;
}

const char *bench_date(char text[BENCH_TEXT_BYTES])
{
    time_t now = time(NULL);
    struct tm utc;

    strftime(text, BENCH_TEXT_BYTES, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));
    return text;
}

const char *bench_setting(int *at)
{
    static const char *const others[] = {"HX_ROOT=", "HX_RANK=", "HX_SIZE=", "HX_SECRET", "HX_BOOTSTRAP="};

    while (environ[*at]) {
        const char *text = environ[(*at)++];
        int wanted = strncmp(text, "HX_", 3) == 0;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            wanted &= strncmp(text, others[i], strlen(others[i])) != 0;
        if (wanted)
            return text;
    }
    return NULL;
}
