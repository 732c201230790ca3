/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations. A descriptor is a number that is never used again, so that an old one is always found out.
 *
 * A device reads the pages that were there at registration, whatever has been mapped at their address since. So does
 * this: vmsplice puts references to the pages into pipes, one for 64 pages, and a read takes a copy of these
 * references (tee), drops those before its first byte, and reads the rest. Needs no privilege; one user's pipes may
 * hold 64 MiB. Where a page is not to be had so, this says so once and reads the memory as it is now.
 */
#include "efa.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define PIPE_BYTES (64 * PAGE)

struct efa_pages {
    uintptr_t base; /* of the first page */
    size_t bytes;
    int scratch[2], null;
    size_t npipes;
    int pipes[][2];
};

/* ---- pages */

/* After a fork a write by the parent puts another page in the place of one that the child has as well: the device would
 * go on with the old one. FI_EFA_FORK_SAFE keeps registered pages out of children, as rdma-core does. */
static void pages_share(uintptr_t base, size_t bytes, int advice)
{
    if (getenv("FI_EFA_FORK_SAFE"))
        madvise((void *)base, bytes, advice);
}

static void pages_release(struct efa_pages *pages)
{
    pages_share(pages->base, pages->bytes, MADV_DOFORK);
    for (size_t i = 0; i < pages->npipes; i++) {
        close(pages->pipes[i][0]);
        close(pages->pipes[i][1]);
    }
    close(pages->scratch[0]);
    close(pages->scratch[1]);
    close(pages->null);
    free(pages);
}

static int pipe_open(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    if (fcntl(fds[1], F_SETPIPE_SZ, (int)PIPE_BYTES) >= (int)PIPE_BYTES)
        return 0;
    close(fds[0]);
    close(fds[1]);
    return -1;
}

/* Have real pages there, for writing: a device asks for them so, else a first write would put another in its place. */
static int pages_fault(uintptr_t base, size_t bytes)
{
    return madvise((void *)base, bytes, MADV_POPULATE_WRITE) == 0 ||
           madvise((void *)base, bytes, MADV_POPULATE_READ) == 0;
}

static struct efa_pages *pages_pin(const void *memory, size_t bytes)
{
    uintptr_t base = (uintptr_t)memory & ~(PAGE - 1), end = ((uintptr_t)memory + bytes + PAGE - 1) & ~(PAGE - 1);
    size_t wanted = (end - base + PIPE_BYTES - 1) / PIPE_BYTES;
    struct efa_pages *pages = calloc(1, sizeof(*pages) + wanted * sizeof(pages->pipes[0]));

    if (!pages || !pages_fault(base, end - base))
        goto fail;
    pages->base = base;
    pages->bytes = end - base;
    pages_share(base, end - base, MADV_DONTFORK);
    pages->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (pages->null < 0 || pipe_open(pages->scratch) != 0)
        goto fail;
    for (; pages->npipes < wanted; pages->npipes++, base += PIPE_BYTES) {
        struct iovec part = {(void *)base, end - base < PIPE_BYTES ? end - base : PIPE_BYTES};
        int *fds = pages->pipes[pages->npipes];
        if (pipe_open(fds) != 0 || vmsplice(fds[1], &part, 1, SPLICE_F_NONBLOCK) != (ssize_t)part.iov_len) {
            pages->npipes++;
            pages_release(pages);
            return NULL;
        }
    }
    return pages;
fail:
    free(pages);
    return NULL;
}

/* From within one pipe. */
static int pipe_read(const struct efa_pages *pages, size_t idx, size_t offset, uint8_t *to, size_t bytes)
{
    ssize_t n = tee(pages->pipes[idx][0], pages->scratch[1], offset + bytes, SPLICE_F_NONBLOCK);

    if (n < (ssize_t)(offset + bytes))
        return -1;
    for (size_t left = offset; left > 0; left -= (size_t)n)
        if ((n = splice(pages->scratch[0], NULL, pages->null, NULL, left, 0)) <= 0)
            return -1;
    for (; bytes > 0; to += n, bytes -= (size_t)n)
        if ((n = read(pages->scratch[0], to, bytes)) <= 0)
            return -1;
    return 0;
}

void efa_mr_read(const struct efa_mr *mr, const uint8_t *from, uint8_t *to, size_t bytes)
{
    while (mr->pages && bytes > 0) {
        size_t at = (uintptr_t)from - mr->pages->base, offset = at % PIPE_BYTES;
        size_t part = bytes < PIPE_BYTES - offset ? bytes : PIPE_BYTES - offset;
        if (pipe_read(mr->pages, at / PIPE_BYTES, offset, to, part) != 0) {
            fprintf(stderr, "efa provider: reading pinned pages: %s\n", strerror(errno));
            abort();
        }
        from += part;
        to += part;
        bytes -= part;
    }
    memcpy(to, from, bytes);
}

/* ---- registrations */

static size_t registrations; /* what EFA_REGISTRATIONS=N limits: the device has so many memory keys */
static size_t locked_bytes;  /* what EFA_MEMLOCK=KIB limits, as ulimit -l does */
static size_t most_locked_bytes;

void efa_mr_count(void)
{
    efa_count("registered", most_locked_bytes);
}

static int mr_close(struct fid *fid)
{
    struct efa_mr *mr = container(fid, struct efa_mr, fid.fid), **link = &mr->domain->mrs;

    efa_enter(mr->domain);
    if (mr->users != 0)
        efa_breach(RULE_in_use, "a registration of %zu bytes is closed under %d operations", mr->bytes, mr->users);
    while (*link != mr)
        link = &(*link)->next;
    *link = mr->next;
    if (mr->pages)
        pages_release(mr->pages);
    registrations--;
    locked_bytes -= mr->bytes;
    mr->domain->users--;
    efa_leave(mr->domain);
    free(mr);
    return 0;
}

static int mr_reg(struct fid *fid, const void *memory, size_t bytes, uint64_t access, uint64_t offset, uint64_t key,
                  uint64_t flags, struct fid_mr **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = mr_close};
    static int told;
    struct efa_domain *domain = container(fid, struct efa_domain, fid.fid);
    struct efa_mr *mr = calloc(1, sizeof(*mr));

    (void)offset;
    (void)key; /* FI_MR_PROV_KEY */
    (void)flags;
    if (!mr)
        return -FI_ENOMEM;
    if (registrations >= efa_setting("EFA_REGISTRATIONS", SIZE_MAX) || locked_bytes + bytes > efa_setting("EFA_MEMLOCK", SIZE_MAX >> 10) << 10) {
        free(mr);
        return -FI_ENOMEM;
    }
    efa_enter(domain);
    if (bytes == 0)
        efa_breach(RULE_empty, "0 bytes at %p are registered", memory);
    *mr = (struct efa_mr){.domain = domain, .next = domain->mrs, .base = (uint8_t *)memory, .bytes = bytes,
                          .access = access, .pages = pages_pin(memory, bytes)};
    if (!mr->pages && !told++)
        fprintf(stderr, "efa provider: pages cannot be pinned here: %s; stale registrations pass\n", strerror(errno));
    mr->fid = (struct fid_mr){.fid = {FI_CLASS_MR, context, &fid_ops}, .key = ++domain->last_serial};
    mr->fid.mem_desc = (void *)mr->fid.key;
    registrations++;
    locked_bytes += bytes;
    most_locked_bytes = locked_bytes > most_locked_bytes ? locked_bytes : most_locked_bytes;
    domain->mrs = mr;
    domain->users++;
    *out = &mr->fid;
    efa_leave(domain);
    return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset,
                   uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
    return count == 1 ? mr_reg(fid, iov->iov_base, iov->iov_len, access, offset, key, flags, out, context)
                      : -FI_EINVAL;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **out)
{
    return attr->iface == FI_HMEM_SYSTEM ? mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
                                                   attr->requested_key, flags, out, attr->context)
                                         : -FI_EINVAL;
}

struct fi_ops_mr efa_mr_ops = {
    .size = sizeof(struct fi_ops_mr), .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr};

struct efa_mr *efa_mr_check(struct efa_domain *domain, const struct iovec *piece, void *desc, enum efa_kind kind)
{
    uint64_t wanted = kind == EFA_SEND ? FI_SEND : kind == EFA_RECV ? FI_RECV : FI_WRITE;
    const uint8_t *base = piece->iov_base;
    struct efa_mr *mr = domain->mrs;

    if (!desc)
        efa_breach(RULE_descriptor, "%zu bytes at %p have none", piece->iov_len, piece->iov_base);
    while (mr && mr->fid.mem_desc != desc)
        mr = mr->next;
    if (!mr)
        efa_breach(RULE_descriptor, "%p is none, or of a registration that was closed", desc);
    if (base < mr->base || base + piece->iov_len > mr->base + mr->bytes)
        efa_breach(RULE_range, "%zu bytes at %p are not in the %zu registered at %p", piece->iov_len, piece->iov_base,
                   mr->bytes, (void *)mr->base);
    if (!(mr->access & wanted))
        efa_breach(RULE_access, "a buffer is %s, registered with access %#llx",
                   kind == EFA_SEND ? "sent" : kind == EFA_RECV ? "received" : "written from",
                   (unsigned long long)mr->access);
    return mr;
}

uint8_t *efa_mr_target(struct efa_domain *domain, const struct efa_target *target, size_t bytes)
{
    uint8_t *base = (uint8_t *)(uintptr_t)target->address; /* FI_MR_VIRT_ADDR */
    struct efa_mr *mr = domain->mrs;

    while (mr && mr->fid.key != target->key)
        mr = mr->next;
    if (!mr)
        efa_breach(RULE_remote, "%zu bytes are written with key %llu, which is none", bytes, (unsigned long long)target->key);
    if (!(mr->access & FI_REMOTE_WRITE))
        efa_breach(RULE_remote, "%zu bytes are written to memory of access %#llx", bytes, (unsigned long long)mr->access);
    if (base < mr->base || base + bytes > mr->base + mr->bytes)
        efa_breach(RULE_remote, "%zu bytes are written at %p, not in the %zu registered at %p", bytes, (void *)base, mr->bytes,
                   (void *)mr->base);
    return base;
}
