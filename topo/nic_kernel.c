/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells of its network interfaces, in /sys/class/net. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "nic.h"

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

    snprintf(path, sizeof path, "%s/class/net/%s", sys, nic->name);
    DIR *folder = opendir(path);
    nic->stacked = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) /* lower_eth0 names what it lies on */
        nic->stacked |= !strncmp(entry->d_name, "lower_", 6);
    if (folder)
        closedir(folder);
}
