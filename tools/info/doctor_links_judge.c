/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a host or a link slow? A link is compared with the median host: the median of each host's links, then the median of these.
 * So one host that is slow with all others does not make the others look slow, though half of all links may be its own.
 */
#include "tools/info/doctor_links.h"
#include <math.h>
#include <stdlib.h>

#define NAMES_MAX 8 /* how many hosts and links are named */
#define TEXT_BYTES 48

/* The greater, the worse; NAN: not measured. */
static double rate_cost(struct hx_link link)
{
    return link.gb_s > 0 ? 1 / link.gb_s : NAN;
}

static double latency_cost(struct hx_link link)
{
    return link.gb_s > 0 ? link.latency_us : NAN;
}

static const char *rate_text(double cost, char text[TEXT_BYTES])
{
    const double gbit_s = 8 / cost;

    snprintf(text, TEXT_BYTES, gbit_s < 1 ? "%.3g Mbit/s" : "%.3g Gbit/s", gbit_s < 1 ? 1e3 * gbit_s : gbit_s);
    return text;
}

static const char *latency_text(double cost, char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, cost < 1000 ? "%.3g us" : "%.0f us", cost);
    return text;
}

/* A link is slow if its cost is more than so many times the median, and by so much more. */
static const struct measure {
    double (*cost)(struct hx_link);
    const char *(*text)(double cost, char text[TEXT_BYTES]);
    double factor, more;
} measures[] = {{rate_cost, rate_text, 3, 0}, {latency_cost, latency_text, 8, 1000}};
#define MEASURES ((int)(sizeof(measures) / sizeof(measures[0])))

static int by_value(const void *a, const void *b)
{
    const double l = *(const double *)a, r = *(const double *)b;

    return (l > r) - (l < r);
}

/* The lower one: the better half of an even number. */
static double median(double *costs, int n)
{
    qsort(costs, (size_t)n, sizeof(*costs), by_value);
    return n ? costs[(n - 1) / 2] : NAN;
}

static double cost_of(const struct doctor_links *p, const struct measure *measure, int from, int to)
{
    return from == to ? NAN : measure->cost(p->matrix[from * p->n + to]);
}

/* The median of a host's links; ways: 1 from it, 2 to it, 3 both. */
static double host_cost(struct doctor_links *p, const struct measure *measure, int host, int ways)
{
    int k = 0;

    for (int other = 0; other < p->n; other++)
        for (int way = 1; way <= 2; way++) {
            const double cost = cost_of(p, measure, way == 1 ? host : other, way == 1 ? other : host);
            if ((ways & way) && !isnan(cost))
                p->costs[k++] = cost;
        }
    return median(p->costs, k);
}

static double median_host(struct doctor_links *p, const struct measure *measure)
{
    double *hosts = p->costs + 2 * p->n;

    for (int host = 0; host < p->n; host++)
        hosts[host] = host_cost(p, measure, host, 3);
    return median(hosts, p->n);
}

static int is_slow(const struct measure *measure, double cost, double normal)
{
    return cost > measure->factor * normal && cost > normal + measure->more; /* NAN: no */
}

int doctor_round_is_slow(struct doctor_links *p, int round)
{
    int slow = 0;

    for (int m = 0; m < MEASURES; m++) {
        const double normal = median_host(p, &measures[m]);
        for (int host = 0; host < p->n; host++)
            slow |= is_slow(&measures[m], cost_of(p, &measures[m], host, hx_pair_partner(host, round, p->n)), normal);
    }
    return slow;
}

/* ---- the verdict */

struct verdict {
    struct doctor_job *job;
    struct doctor_links *p;
    const struct measure *measure;
    double normal;
    int *out, *in; /* of each host: all its messages that way are slow */
    int told;
};

/* Are almost all links of this host slow that way? Counts them. */
static int host_is_slow(const struct verdict *v, int host, int way, int *slow, int *of)
{
    *slow = *of = 0;
    for (int other = 0; other < v->p->n; other++) {
        const double cost = cost_of(v->p, v->measure, way == 1 ? host : other, way == 1 ? other : host);
        *of += !isnan(cost);
        *slow += is_slow(v->measure, cost, v->normal);
    }
    return *of >= 2 && 4 * *slow >= 3 * *of;
}

static int leader(const struct verdict *v, int host)
{
    return hx_shape_member(v->p->shape, host, 0);
}

static const char *host_name(const struct verdict *v, int host)
{
    return info_text(v->job->told[leader(v, host)], "host");
}

static void host_tell(struct verdict *v, int host)
{
    const int ways = v->out[host] + 2 * v->in[host], rank = leader(v, host);
    const char *interface = info_text(v->job->told[rank], "interface");
    const double cost = host_cost(v->p, v->measure, host, ways);
    char is[TEXT_BYTES], normal[TEXT_BYTES];
    int slow, of;

    host_is_slow(v, host, v->out[host] ? 1 : 2, &slow, &of);
    doctor_tell(v->job, DOCTOR_WARN, &rank, 1,
                "slow host %s: %s %s %d of %d measured hosts; the median host has %s (factor %.0f). Its interface is %s",
                host_name(v, host), v->measure->text(cost, is), ways == 3 ? "to and from" : ways == 1 ? "only to" : "only from",
                slow, of, v->measure->text(v->normal, normal), cost / v->normal, *interface ? interface : "unknown");
    v->told++;
}

/* Is this link slow that way, and is that not a fault of one of its hosts? */
static int link_is_slow(const struct verdict *v, int from, int to)
{
    return !v->out[from] && !v->in[to] && is_slow(v->measure, cost_of(v->p, v->measure, from, to), v->normal);
}

static void link_tell(struct verdict *v, int from, int to)
{
    const double cost = cost_of(v->p, v->measure, from, to), back = cost_of(v->p, v->measure, to, from);
    char is[TEXT_BYTES], normal[TEXT_BYTES], other[TEXT_BYTES];

    doctor_tell(v->job, DOCTOR_WARN, (int[]){leader(v, from), leader(v, to)}, 2,
                "slow link from %s to %s: %s, and %s back; the median host has %s (factor %.0f)", host_name(v, from),
                host_name(v, to), v->measure->text(cost, is), v->measure->text(back, other), v->measure->text(v->normal, normal),
                cost / v->normal);
    v->told++;
}

static void measure_judge(struct verdict *v)
{
    const int n = v->p->n;
    int slow, of;

    v->normal = median_host(v->p, v->measure);
    for (int host = 0; host < n; host++) {
        v->out[host] = host_is_slow(v, host, 1, &slow, &of);
        v->in[host] = host_is_slow(v, host, 2, &slow, &of);
    }
    for (int host = 0; host < n && v->told < NAMES_MAX; host++)
        if (v->out[host] || v->in[host])
            host_tell(v, host);
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n && v->told < NAMES_MAX; to++)
            if (link_is_slow(v, from, to) && (from < to || !link_is_slow(v, to, from))) /* if both ways are, once */
                link_tell(v, from, to);
}

void doctor_links_judge(struct doctor_job *job, struct doctor_links *p)
{
    struct verdict v = {.job = job, .p = p, .out = calloc((size_t)p->n, sizeof(int)),
                        .in = calloc((size_t)p->n, sizeof(int))};
    long measured = 0;
    char rate[TEXT_BYTES], latency[TEXT_BYTES];

    for (int i = 0; i < p->n; i++)
        for (int k = i + 1; k < p->n; k++)
            measured += !isnan(cost_of(p, &measures[0], i, k));
    for (int m = 0; v.out && v.in && m < MEASURES; m++) {
        v.measure = &measures[m];
        measure_judge(&v);
    }
    if (!v.told)
        doctor_tell(job, DOCTOR_OK, NULL, 0, "%ld of %ld links between %d hosts measured, each way: the median host has %s and %s",
                    measured, (long)p->n * (p->n - 1) / 2, p->n, rate_text(median_host(p, &measures[0]), rate),
                    latency_text(median_host(p, &measures[1]), latency));
    free(v.out);
    free(v.in);
}
