/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells of its network interfaces, in /sys/class/net. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "topo/nic.h"

#define LAYERS 8 /* of interfaces on each other */

/* Is it, or does it lie on, a device? -1: there is no such interface. *stacked: on how many others it lies. */
static int is_device(const char *sys, const char *name, int layers, int *stacked)
{
    char path[PATH_MAX];
    int found, below;

    snprintf(path, sizeof path, "%s/class/net/%s/device", sys, name);
    found = access(path, F_OK) == 0;
    *strrchr(path, '/') = 0;
    DIR *folder = opendir(path);
    *stacked = 0;
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (!strncmp(entry->d_name, "lower_", 6)) { /* lower_eth0 names what it lies on */
            ++*stacked;
            found |= layers > 0 && is_device(sys, entry->d_name + 6, layers - 1, &below) > 0;
        }
    closedir(folder);
    return found;
}

void hx_nic_kernel_read(const char *sys, struct hx_nic *nic)
{
    char path[PATH_MAX];
    long mbit = 0;

    snprintf(path, sizeof path, "%s/class/net/%s/speed", sys, nic->name);
    FILE *file = fopen(path, "r");
    if (file) { /* -1, or an error on reading, where it is not known */
        if (fscanf(file, "%ld", &mbit) != 1 || mbit < 0)
            mbit = 0;
        fclose(file);
    }
    nic->rate_bits = (uint64_t)mbit * 1000000;

    nic->software = is_device(sys, nic->name, LAYERS, &nic->stacked) == 0;
    nic->stacked = nic->stacked > 0;
}
