/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of the provider: an endpoint with all it needs, used by plain libfabric calls, and cases that run in a
 * child of their own, because a breach ends it and EFA_WORST is read once. */
#pragma once

#include "runtime/base/clock.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define need(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

struct device {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr; /* of buffer */
    uint8_t *buffer;
    fi_addr_t self;
};

static struct fi_context2 contexts[1024];
static uint64_t rma = FI_RMA; /* asked for, or 0 */
static enum fi_wait_obj wait_object = FI_WAIT_NONE;

static struct fi_info *offer(void)
{
    struct fi_info *hints = fi_allocinfo(), *info;

    hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_REMOTE_COMM | rma;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup("efa");
    need(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) == 0);
    fi_freeinfo(hints);
    return info;
}

/* Open and bind all but the event queue's binding and the enabling. queue: entries of the completion queue. */
static struct device device_open(size_t queue)
{
    struct device d = {.info = offer()};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = queue, .wait_obj = wait_object};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_NONE};

    need(fi_fabric(d.info->fabric_attr, &d.fabric, NULL) == 0);
    need(fi_domain(d.fabric, d.info, &d.domain, NULL) == 0);
    need(fi_eq_open(d.fabric, &eq, &d.eq, NULL) == 0);
    need(fi_cq_open(d.domain, &cq, &d.cq, NULL) == 0);
    need(fi_av_open(d.domain, &av, &d.av, NULL) == 0);
    need(fi_endpoint(d.domain, d.info, &d.ep, NULL) == 0);
    need(fi_ep_bind(d.ep, &d.cq->fid, FI_TRANSMIT | FI_RECV) == 0);
    need(fi_ep_bind(d.ep, &d.av->fid, 0) == 0);
    d.buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(d.buffer != MAP_FAILED);
    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE, 0, 0, 0, &d.mr, NULL) == 0);
    return d;
}

static fi_addr_t device_reach(struct device *d, struct device *peer)
{
    char name[64];
    size_t bytes = sizeof(name);
    fi_addr_t addr;

    need(fi_getname(&peer->ep->fid, name, &bytes) == 0 && bytes == 32);
    need(fi_av_insert(d->av, name, 1, &addr, 0, NULL) == 1);
    return addr;
}

static struct device device_start(size_t queue)
{
    struct device d = device_open(queue);

    need(fi_ep_bind(d.ep, &d.eq->fid, 0) == 0);
    need(fi_enable(d.ep) == 0);
    d.self = device_reach(&d, &d);
    return d;
}

static inline void device_close(struct device *d)
{
    need(fi_close(&d->ep->fid) == 0 && fi_close(&d->mr->fid) == 0 && fi_close(&d->av->fid) == 0);
    need(fi_close(&d->cq->fid) == 0 && fi_close(&d->eq->fid) == 0 && fi_close(&d->domain->fid) == 0);
    need(fi_close(&d->fabric->fid) == 0);
    fi_freeinfo(d->info);
    munmap(d->buffer, BUFFER_BYTES);
}

/* The i-th 64 bytes of the buffer, sent or received with the i-th context. */
static inline ssize_t send_to(struct device *d, fi_addr_t addr, int i, uint64_t tag)
{
    return fi_tsend(d->ep, d->buffer + 64 * i, 64, fi_mr_desc(d->mr), addr, tag, &contexts[i]);
}
static inline ssize_t recv_from(struct device *d, fi_addr_t addr, int i, uint64_t tag)
{
    return fi_trecv(d->ep, d->buffer + 64 * i, 64, fi_mr_desc(d->mr), addr, tag, 0, &contexts[i]);
}

/* The i-th 64 bytes go to the peer's memory, with data. */
static inline ssize_t write_to(struct device *d, fi_addr_t addr, int i, const uint8_t *to, const struct fid_mr *mr, uint64_t data)
{
    return fi_writedata(d->ep, d->buffer + 64 * i, 64, fi_mr_desc(d->mr), data, addr, (uintptr_t)to, mr->key, &contexts[i]);
}

#define WRITTEN 10000 /* of completed: and the data of a peer's write */

/* The number of the context of the next completion, -1: none now, -2: an error. */
static inline int completed(struct device *d)
{
    struct fi_cq_tagged_entry entry;
    ssize_t n = fi_cq_read(d->cq, &entry, 1);

    need(n == 1 || n == -FI_EAGAIN || n == -FI_EAVAIL);
    if (n == 1 && (entry.flags & FI_REMOTE_CQ_DATA))
        return WRITTEN + (int)entry.data;
    return n == 1 ? (int)((struct fi_context2 *)entry.op_context - contexts) : n == -FI_EAGAIN ? -1 : -2;
}

/* Run body in a child with EFA_WORST=worst. Returns its wait status, and in said what it wrote to stderr, but for the
 * provider's line of its seed. */
static int child_run(void (*body)(void), const char *worst, char *said, size_t bytes)
{
    int fds[2], status;
    size_t used = 0;
    char line[512];
    FILE *in;
    pid_t pid;

    if (!getenv("FI_PROVIDER_PATH")) {
        const char *top = getenv("top_builddir");
        snprintf(line, sizeof(line), "%s/tests/efa_provider/.libs", top ? top : ".");
        setenv("FI_PROVIDER_PATH", line, 1);
    }
    setenv("EFA_WORST", worst, 1);
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 2);
        close(fds[0]);
        alarm(30);
        body();
        _exit(0);
    }
    close(fds[1]);
    in = fdopen(fds[0], "r");
    said[0] = '\0';
    while (fgets(line, sizeof(line), in))
        if (strncmp(line, "efa provider: EFA_WORST", 23) != 0 && used + strlen(line) < bytes)
            used += (size_t)sprintf(said + used, "%s", line);
    fclose(in);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}
