/* SPDX-License-Identifier: BSD-3-Clause */
/* What is switched on, the dice, and the line that ends a program in breach of the contract. */
#include "efa.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

static int started, on[WORST_COUNT], error_code, error_once;
static uint64_t state, error_at;

static const char *const worst_names[] = {
#define WORST(name, text) #name,
#include "worst.def"
#undef WORST
};
static const struct {
    const char *name, *text;
} rules[] = {
#define RULE(name, text) {#name, text},
#include "rules.def"
#undef RULE
};

static void switches_read(const char *list)
{
    char *copy = strdup(list), *rest = copy, *word;

    while ((word = strsep(&rest, ","))) {
        int known = *word == '\0' || strcmp(word, "none") == 0;
        for (int i = 0; i < WORST_COUNT; i++)
            if (strcmp(word, worst_names[i]) == 0 || strcmp(word, "all") == 0)
                known = on[i] = 1;
        if (!known) {
            fprintf(stderr, "efa provider: there is no %s: EFA_WORST=%s\n", word, list);
            exit(2);
        }
    }
    free(copy);
}

void efa_worst_start(void)
{
    const char *list = getenv("EFA_WORST"), *seed = getenv("EFA_SEED"), *error = getenv("EFA_ERROR");
    const char *rank = getenv("HX_RANK"), *at = error ? strchr(error, '@') : NULL;

    if (started)
        return;
    started = 1;
    switches_read(list ? list : "");
    error_once = error && strncmp(error, "once", 4) == 0;
    if (error_once)
        error += strlen("once");
    if (error)
        error_code = strncmp(error, "queue", 5) != 0 ? atoi(error) : atoi(error + 5) > 0 ? -atoi(error + 5) : -4109;
    error_at = at ? strtoull(at + 1, NULL, 10) : 50;
    if (seed)
        state = strtoull(seed, NULL, 10);
    else if (getrandom(&state, 4, 0) != 4)
        state = (uint64_t)getpid();
    if (list && *list != '\0')
        fprintf(stderr, "efa provider: EFA_WORST=%s EFA_SEED=%llu\n", list, (unsigned long long)state);
    state = state * 1000003 + (rank ? strtoull(rank, NULL, 10) : (uint64_t)getpid()); /* each rank its own */
}

static uint64_t draw(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

unsigned efa_dice(unsigned n)
{
    return (unsigned)(draw() % n);
}

int efa_worst(enum efa_worst worst, unsigned percent)
{
    return on[worst] && efa_dice(100) < percent;
}

size_t efa_setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

uint32_t efa_version(void)
{
    const char *text = getenv("EFA_VERSION");
    unsigned major = FI_MAJOR(fi_version()), minor = FI_MINOR(fi_version());

    if (text)
        sscanf(text, "%u.%u", &major, &minor);
    return FI_VERSION(major, minor);
}

int efa_refuses(const char *what)
{
    const char *refused = getenv(strcmp(efa_name, "efa") == 0 ? "EFA_REFUSES" : "CXI_REFUSES");

    return refused && strcmp(refused, what) == 0;
}

void efa_count(const char *what, size_t bytes)
{
    const char *name = getenv("EFA_COUNT"), *rank = getenv("HX_RANK");
    int fd = name ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

    if (fd >= 0)
        dprintf(fd, "%s %s %zu\n", what, rank ? rank : "-", bytes);
    if (fd >= 0)
        close(fd);
}

int efa_pair_take(size_t packets)
{
    const size_t most = efa_setting("EFA_PAIRS", SIZE_MAX);
    const char *name = getenv("EFA_COUNT");
    FILE *file = name && most < SIZE_MAX ? fopen(name, "a+e") : NULL;
    size_t pairs = 0;
    char line[64];

    if (file)
        flock(fileno(file), LOCK_EX);
    while (file && fgets(line, sizeof(line), file))
        pairs += strncmp(line, "pair ", 5) == 0;
    if (pairs < most)
        efa_count("pair", packets * EFA_PACKET_BYTES);
    if (file)
        fclose(file); /* which unlocks it */
    return pairs < most ? 0 : -FI_ENOMEM;
}

int efa_error_due(uint64_t sends, int *once)
{
    *once = error_once;
    return sends == error_at ? error_code : 0;
}

void efa_breach(enum efa_rule rule, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "efa contract: %s: %s, but %s\n", rules[rule].name, text, rules[rule].text);
    abort();
}

void efa_enter(struct efa_domain *domain)
{
    if (atomic_exchange(&domain->busy, 1))
        efa_breach(RULE_threads, "a second thread is inside");
}

void efa_leave(struct efa_domain *domain)
{
    atomic_store(&domain->busy, 0);
}
