/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of --hosts: "a,b:4". */
#include "tools/run/coll_run_hosts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 16384

/* Can an agent get this name? It may begin with a user. Colons are allowed only in an IPv6 address: another colon is left from a wrong
 * number of ranks. */
static int is_host(const char *name)
{
    const char *address = strrchr(name, '@') ? strrchr(name, '@') + 1 : name;
    unsigned char bytes[sizeof(struct in6_addr)];
    char plain[NAME_BYTES];

    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(address, "%"), address); /* without its zone, as in fe80::1%eth0 */
    return *address && *name != '-' && !strpbrk(name, " \t\r\n[]") && (!strchr(name, ':') || inet_pton(AF_INET6, plain, bytes) == 1);
}

/* "name[:count]", or "[address]:count": its length in text. */
static size_t host_parse(const char *text, struct host *host, char *error, size_t room)
{
    const size_t bytes = strcspn(text, ",");
    const char *colon = memrchr(text, ':', bytes), *bracket = memrchr(text, ']', bytes);
    const int has_count = colon && (!bracket || bracket < colon) && (bracket || memchr(text, ':', bytes) == colon);
    const size_t name = has_count ? (size_t)(colon - text) : bytes;
    const int brackets = bracket && *text == '[' && bracket == text + name - 1; /* ssh does not accept them */
    char *end;

    *host = (struct host){.errors = -1, .channel = {.in = -1, .out = -1}};
    snprintf(host->name, sizeof host->name, "%.*s", (int)name - 2 * brackets, text + brackets);
    if (name >= NAME_BYTES || !is_host(host->name)) {
        snprintf(error, room, "\"%.*s\" is not a host: expected HOST or HOST:RANKS, such as a, user@b:4 or [fd00::2]:4", (int)bytes, text);
        return 0;
    }
    if (has_count) {
        const unsigned long n = strtoul(colon + 1, &end, 10);

        if (colon[1] < '0' || colon[1] > '9' || end != text + bytes || n < 1 || n > RANKS_MAX) {
            snprintf(error, room, "%.*s: expected a number of ranks from 1 to %d after the colon", (int)bytes, text, RANKS_MAX);
            return 0;
        }
        host->n = (int)n;
    }
    return bytes;
}

/* Ranks that have no host yet go to the hosts without a count, evenly. */
static int ranks_place(struct host *hosts, int n, int ranks, char *error, size_t room)
{
    int given = 0, open = 0, first = 0;

    for (int i = 0; i < n; i++) {
        given += hosts[i].n;
        open += hosts[i].n == 0;
    }
    const int left = ranks ? ranks - given : open;
    if (given + left > RANKS_MAX) {
        snprintf(error, room, "%d ranks are too many: expected at most %d", given, RANKS_MAX);
        return -1;
    }
    if (left < open || (open == 0 && left != 0)) {
        snprintf(error, room, "these hosts have %s%d ranks, but -n is %d", open ? "at least " : "", given + open, ranks);
        return -1;
    }
    for (int i = 0, k = 0; i < n; i++) {
        if (hosts[i].n == 0) {
            hosts[i].n = left / open + (k < left % open);
            k++;
        }
        hosts[i].first = first;
        first += hosts[i].n;
    }
    return first;
}

int hosts_parse(const char *list, int *ranks, struct host **out, char *error, size_t room)
{
    const size_t most = strlen(list) / 2 + 1;
    struct host *hosts = calloc(most, sizeof *hosts);
    int n = 0;

    for (const char *at = list; hosts; n++) {
        const size_t bytes = host_parse(at, &hosts[n], error, room);

        if (bytes == 0)
            goto wrong;
        for (int i = 0; i < n; i++)
            if (!strcmp(hosts[i].name, hosts[n].name)) {
                snprintf(error, room, "host %s is given twice; write it once, with the number of its ranks: %s:2", hosts[n].name,
                         hosts[n].name);
                goto wrong;
            }
        at += bytes;
        if (*at++ == '\0')
            break;
    }
    n++;
    const int placed = hosts ? ranks_place(hosts, n, *ranks, error, room) : -1;
    if (placed > 0) {
        *ranks = placed;
        *out = hosts;
        return n;
    }
wrong:
    free(hosts);
    return -1;
}

int hosts_check(struct options *options, char *error, size_t bytes)
{
    struct host *hosts = NULL;
    int ranks = (int)options->ranks;
    char reason[512] = "no memory";

    if (hosts_parse(options->hosts, &ranks, &hosts, reason, sizeof reason) < 0) {
        snprintf(error, bytes, "--hosts %s: %s", options->hosts, reason);
        return -1;
    }
    free(hosts);
    options->ranks = (uint64_t)ranks;
    return 0;
}
