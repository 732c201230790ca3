/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's name: see cpu_model.h. */
#include "topo/cpu_model.h"
#include <stdio.h>
#include <string.h>

void hx_cpu_model(char model[HX_CPU_MODEL_BYTES])
{
    static const char *const names[] = {"model name\t: ", "CPU part\t: "};
    FILE *in = fopen("/proc/cpuinfo", "re");
    char line[256];
    int found = 0;

    snprintf(model, HX_CPU_MODEL_BYTES, "unknown");
    while (in && !found && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 2 && !found; i++)
            if ((found = !strncmp(line, names[i], strlen(names[i]))))
                snprintf(model, HX_CPU_MODEL_BYTES, "%s", line + strlen(names[i]));
    }
    if (in)
        fclose(in);
}
