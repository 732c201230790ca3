/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A described machine of two sockets with two NUMA nodes each, two units per NUMA node; included by tests after cmocka.h:
 *
 *   Machine -- 04:00.0 eth0 (nearness unknown)
 *   |- socket 0:  NUMA 0 {0,1} -- 10:00.0, 10:00.1    NUMA 1 {2,3} -- 20:00.0    socket itself -- 30:00.0
 *   `- socket 1:  NUMA 2 {4,5} -- 40:00.0             NUMA 3 {6,7}
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/place.h"

#define HEAD                                   \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n"

static char root[64], xml[96];
static int gp; /* hwloc wants each object numbered */

static void put_object(FILE *out, const char *type, int index, unsigned cpus, unsigned nodes, const char *more)
{
    fprintf(out, "<object type=\"%s\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" "
                 "complete_nodeset=\"0x%x\" gp_index=\"%d\" %s",
            type, index, cpus, cpus, nodes, nodes, ++gp, more);
}

static void put_pci(FILE *out, unsigned bus, unsigned function, const char *netdev)
{
    fprintf(out, "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
                 "bridge_pci=\"0000:[%02x-%02x]\">\n", ++gp, bus, bus);
    for (unsigned f = 0; f <= function; f++) {
        fprintf(out, "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.%x\" "
                     "pci_type=\"0200 [1d0f:efa0] [0000:0000] 00\" pci_link_speed=\"0.0\">", ++gp, bus, f);
        if (netdev)
            fprintf(out, "<object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" osdev_type=\"2\"/>", ++gp, netdev);
        fputs("</object>\n", out);
    }
    fputs("</object>\n", out);
}

static void put_numa(FILE *out, int node, unsigned bus, unsigned function)
{
    unsigned first = 1u << (2 * node), both = 3u << (2 * node);
    put_object(out, "Group", node, both, 1u << node, "kind=\"1001\" subkind=\"0\">\n");
    put_object(out, "NUMANode", node, both, 1u << node, "local_memory=\"1073741824\"/>\n");
    for (int i = 0; i < 2; i++) {
        put_object(out, "Core", 2 * node + i, first << i, 1u << node, ">");
        put_object(out, "PU", 2 * node + i, first << i, 1u << node, "/></object>\n");
    }
    if (bus)
        put_pci(out, bus, function, NULL);
    fputs("</object>\n", out);
}

static int setup(void **state)
{
    (void)state;
    char path[96];
    strcpy(root, "/tmp/hx_nic_XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(path, sizeof path, "%s/proc", root);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/proc/thread-self", root);
    mkdir(path, 0755);
    snprintf(xml, sizeof xml, "%s/machine.xml", root);
    FILE *out = fopen(xml, "w");
    if (!out)
        return -1;
    fputs(HEAD, out);
    put_object(out, "Machine", 0, 0xff, 0xf, "allowed_cpuset=\"0xff\" allowed_nodeset=\"0xf\">\n");
    put_object(out, "Package", 0, 0x0f, 0x3, ">\n");
    put_numa(out, 0, 0x10, 1);
    put_numa(out, 1, 0x20, 0);
    put_pci(out, 0x30, 0, NULL);
    fputs("</object>\n", out);
    put_object(out, "Package", 1, 0xf0, 0xc, ">\n");
    put_numa(out, 2, 0x40, 0);
    put_numa(out, 3, 0, 0);
    fputs("</object>\n", out);
    put_pci(out, 0x04, 0, "eth0");
    fputs("</object>\n</topology>\n", out);
    return fclose(out);
}

static int teardown(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command) != 0;
}

static struct hx_topo *open_bound(const char *cpus)
{
    char path[96], error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_topo *topo;
    snprintf(path, sizeof path, "%s/proc/thread-self/status", root);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "Cpus_allowed_list:\t%s\n", cpus);
    fclose(out);
    if (hx_topo_open(xml, root, 1, &topo, error))
        fail_msg("%s", error);
    return topo;
}
