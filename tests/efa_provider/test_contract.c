/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rule of EFA's contract is broken on purpose, in a child, which must end with the one line of that rule. */
#include "device.h"
#include <pthread.h>

#define QUEUE (256 + 8192 + 600) /* the packets of the device, and writes */

static void break_descriptor(void)
{
    struct device d = device_start(QUEUE);

    fi_tsend(d.ep, d.buffer, 64, NULL, d.self, 1, &contexts[0]);
}

static void break_descriptor_closed(void)
{
    struct device d = device_start(QUEUE);
    void *desc = fi_mr_desc(d.mr);
    struct fid_mr *other;

    need(fi_close(&d.mr->fid) == 0);
    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_SEND | FI_RECV, 0, 0, 0, &other, NULL) == 0);
    fi_trecv(d.ep, d.buffer, 64, desc, d.self, 1, 0, &contexts[0]);
}

/* A longer receive than libfabric copies. */
static void break_descriptor_received(void)
{
    struct device d = device_start(QUEUE);

    need(fi_trecv(d.ep, d.buffer, BUFFER_BYTES, NULL, d.self, 1, 0, &contexts[0]) == 0);
    fi_trecv(d.ep, d.buffer, BUFFER_BYTES + 1, NULL, d.self, 2, 0, &contexts[1]);
}

static void break_range(void)
{
    struct device d = device_start(QUEUE);

    fi_tsend(d.ep, d.buffer + BUFFER_BYTES - 63, 64, fi_mr_desc(d.mr), d.self, 1, &contexts[0]);
}

static void break_access(void)
{
    struct device d = device_start(QUEUE);
    struct fid_mr *other;

    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_SEND, 0, 0, 0, &other, NULL) == 0);
    fi_trecv(d.ep, d.buffer, 64, fi_mr_desc(other), d.self, 1, 0, &contexts[0]);
}

static void break_empty(void)
{
    struct device d = device_start(QUEUE);
    struct fid_mr *other;

    fi_mr_reg(d.domain, d.buffer, 0, FI_SEND, 0, 0, 0, &other, NULL);
}

static void break_in_use(void)
{
    struct device d = device_start(QUEUE);

    need(recv_from(&d, d.self, 0, 1) == 0);
    fi_close(&d.mr->fid);
}

static void break_context(void)
{
    struct device d = device_start(QUEUE);

    need(send_to(&d, d.self, 0, 1) == 0);
    fi_tsend(d.ep, d.buffer, 64, fi_mr_desc(d.mr), d.self, 2, &contexts[0]);
}

static void break_context_none(void)
{
    struct device d = device_start(QUEUE);

    fi_tsend(d.ep, d.buffer, 64, fi_mr_desc(d.mr), d.self, 2, NULL);
}

static void break_context_written(void)
{
    struct device d = device_start(QUEUE);

    need(recv_from(&d, d.self, 0, 1) == 0);
    contexts[0].internal[3] = NULL;
    need(fi_tinject(d.ep, "word", 4, d.self, 1) == 0);
    while (completed(&d) == -1)
        ;
}

/* Both have ended; the completion of one has been read. */
static void break_context_unread(void)
{
    struct device d = device_start(QUEUE);
    int first;

    for (int i = 0; i < 2; i++)
        need(recv_from(&d, d.self, i, 1) == 0 && fi_tinject(d.ep, "word", 4, d.self, 1) == 0);
    while ((first = completed(&d)) < 0)
        ;
    fi_trecv(d.ep, d.buffer + 640, 64, fi_mr_desc(d.mr), d.self, 9, 0, &contexts[!first]);
}

static void break_overlap(void)
{
    struct device d = device_start(QUEUE);

    need(recv_from(&d, d.self, 0, 1) == 0);
    fi_trecv(d.ep, d.buffer + 63, 64, fi_mr_desc(d.mr), d.self, 2, 0, &contexts[1]);
}

static void break_overlap_sent(void)
{
    struct device d = device_start(QUEUE);

    need(send_to(&d, d.self, 0, 1) == 0);
    fi_trecv(d.ep, d.buffer + 63, 64, fi_mr_desc(d.mr), d.self, 2, 0, &contexts[1]);
}

static void break_credits(void)
{
    struct device d = device_start(QUEUE);

    for (int i = 0; i <= (int)d.info->tx_attr->size; i++)
        need(send_to(&d, d.self, i, 1) == 0);
}

static void break_overrun(void)
{
    struct device d = device_start(4);

    for (int i = 0; i < 5; i++)
        need(recv_from(&d, d.self, i, 1) == 0);
}

/* While a word is missing, 16 later ones may come, and here 200 do in any order. */
static void break_window(void)
{
    struct device d;

    setenv("EFA_VERSION", "1.22", 1);
    setenv("FI_EFA_RECVWIN_SIZE", "16", 1);
    d = device_start(QUEUE);
    for (int i = 0; i < 200; i++)
        need(send_to(&d, d.self, i, 1) == 0);
    for (int i = 0; i < 1000; i++)
        completed(&d);
}

static void break_wait(void)
{
    struct device d;
    struct fid *fid;

    setenv("EFA_VERSION", "1.22", 1);
    d = device_start(QUEUE);
    fid = &d.cq->fid;
    fi_trywait(d.fabric, &fid, 1);
}

static void break_again(void)
{
    struct device d = device_start(QUEUE);

    for (int i = 0; i < 200; i++)
        send_to(&d, d.self, i, 1);
}

static void break_tag(void)
{
    struct device d = device_start(QUEUE);

    send_to(&d, d.self, 0, UINT64_C(1) << 48);
}

static void break_iov(void)
{
    struct device d = device_start(QUEUE);
    struct iovec iov[3] = {{d.buffer, 1}, {d.buffer + 1, 1}, {d.buffer + 2, 1}};
    void *desc[3] = {fi_mr_desc(d.mr), fi_mr_desc(d.mr), fi_mr_desc(d.mr)};

    fi_tsendv(d.ep, iov, desc, 3, d.self, 1, &contexts[0]);
}

static void break_inject(void)
{
    struct device d = device_start(QUEUE);

    fi_tinject(d.ep, d.buffer, d.info->tx_attr->inject_size + 1, d.self, 1);
}

static void break_size(void)
{
    struct device d = device_start(QUEUE);

    fi_tsend(d.ep, d.buffer, d.info->ep_attr->max_msg_size + 1, fi_mr_desc(d.mr), d.self, 1, &contexts[0]);
}

static void break_rma(void)
{
    struct device d;

    rma = 0;
    d = device_start(QUEUE);
    write_to(&d, d.self, 0, d.buffer + 64, d.mr, 1);
}

static void break_data(void)
{
    struct device d = device_start(QUEUE);

    write_to(&d, d.self, 0, d.buffer + 64, d.mr, UINT64_C(1) << 32);
}

static void break_access_write(void)
{
    struct device d = device_start(QUEUE);
    struct fid_mr *other;

    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_SEND, 0, 0, 0, &other, NULL) == 0);
    fi_writedata(d.ep, d.buffer, 64, fi_mr_desc(other), 1, d.self, (uintptr_t)d.buffer + 64, fi_mr_key(d.mr), &contexts[0]);
}

/* The target is found wanting when the write arrives. */
static void write_and_wait(struct device *d, const uint8_t *to, const struct fid_mr *mr)
{
    need(write_to(d, d->self, 0, to, mr, 1) == 0);
    for (int i = 0; i < 1000; i++)
        completed(d);
}

static void break_remote(void)
{
    struct device d = device_start(QUEUE);
    struct fid_mr *other;

    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_RECV, 0, 0, 0, &other, NULL) == 0);
    write_and_wait(&d, d.buffer + 64, other);
}

static void break_remote_closed(void)
{
    struct device d = device_start(QUEUE);
    struct fid_mr *other, gone;

    need(fi_mr_reg(d.domain, d.buffer, BUFFER_BYTES, FI_REMOTE_WRITE, 0, 0, 0, &other, NULL) == 0);
    gone = *other;
    need(fi_close(&other->fid) == 0);
    write_and_wait(&d, d.buffer + 64, &gone);
}

static void break_remote_range(void)
{
    struct device d = device_start(QUEUE);

    write_and_wait(&d, d.buffer + BUFFER_BYTES - 63, d.mr);
}

static void break_overrun_written(void)
{
    struct device d = device_start(8), target = device_start(4);
    fi_addr_t addr = device_reach(&d, &target);

    device_reach(&target, &d);
    for (int i = 0; i < 5; i++)
        need(write_to(&d, addr, i, target.buffer + 64 * i, target.mr, 1) == 0);
    for (int i = 0; i < 1000; i++) { /* it moves by a look at no completion, which leaves them */
        struct fi_cq_tagged_entry none;
        completed(&d);
        fi_cq_read(target.cq, &none, 0);
    }
}

static void break_known(void)
{
    struct device d = device_start(QUEUE), target = device_start(QUEUE);
    fi_addr_t addr = device_reach(&d, &target);

    need(write_to(&d, addr, 0, target.buffer, target.mr, 1) == 0);
    for (int i = 0; i < 1000; i++) {
        completed(&d);
        completed(&target);
    }
}

static void break_address(void)
{
    struct device d = device_start(QUEUE);

    send_to(&d, d.self + 1, 0, 1);
}

static void break_address_foreign(void)
{
    struct device d = device_start(QUEUE);
    fi_addr_t addr;

    fi_av_insert(d.av, "127.0.0.1:12345 and then some more", 1, &addr, 0, NULL);
}

static void break_setup(void)
{
    struct device d = device_open(QUEUE);

    fi_enable(d.ep); /* no event queue */
}

static void break_setup_early(void)
{
    struct device d = device_open(QUEUE);

    recv_from(&d, FI_ADDR_UNSPEC, 0, 1);
}

static void break_order(void)
{
    struct device d = device_start(QUEUE);

    fi_close(&d.cq->fid);
}

static void break_order_domain(void)
{
    struct device d = device_start(QUEUE);

    need(fi_close(&d.ep->fid) == 0 && fi_close(&d.av->fid) == 0 && fi_close(&d.cq->fid) == 0);
    fi_close(&d.domain->fid); /* a registration is open */
}

static void *reads(void *device)
{
    for (;;)
        completed(device);
    return NULL;
}

static void break_threads(void)
{
    struct device d = device_start(QUEUE);
    pthread_t other;

    need(pthread_create(&other, NULL, reads, &d) == 0);
    reads(&d);
}

static void break_fork(void)
{
    setenv("FI_EFA_FORK_SAFE", "1", 1);
    setenv("FI_EFA_USE_HUGE_PAGE", "1", 1);
    device_start(QUEUE);
}

static void break_fork_rdma(void)
{
    setenv("FI_EFA_FORK_SAFE", "1", 1);
    setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
    device_start(QUEUE);
}

static const struct {
    const char *rule;
    void (*body)(void);
    const char *worst;
} breaches[] = {
    {"descriptor", break_descriptor, ""},
    {"descriptor", break_descriptor_closed, ""},
    {"descriptor", break_descriptor_received, ""},
    {"range", break_range, ""},
    {"access", break_access, ""},
    {"empty", break_empty, ""},
    {"in_use", break_in_use, ""},
    {"context", break_context, ""},
    {"context", break_context_none, ""},
    {"context", break_context_written, ""},
    {"context", break_context_unread, ""},
    {"overlap", break_overlap, ""},
    {"overlap", break_overlap_sent, ""},
    {"credits", break_credits, ""},
    {"overrun", break_overrun, ""},
    {"again", break_again, "eagain"},
    {"tag", break_tag, ""},
    {"iov", break_iov, ""},
    {"inject", break_inject, ""},
    {"size", break_size, ""},
    {"rma", break_rma, ""},
    {"data", break_data, ""},
    {"access", break_access_write, ""},
    {"remote", break_remote, ""},
    {"remote", break_remote_closed, ""},
    {"remote", break_remote_range, ""},
    {"overrun", break_overrun_written, ""},
    {"known", break_known, ""},
    {"address", break_address, ""},
    {"address", break_address_foreign, ""},
    {"setup", break_setup, ""},
    {"setup", break_setup_early, ""},
    {"order", break_order, ""},
    {"order", break_order_domain, ""},
    {"threads", break_threads, ""},
    {"window", break_window, "reorder"},
    {"wait", break_wait, ""},
    {"fork", break_fork, ""},
    {"fork", break_fork_rdma, ""},
};
#define BREACHES (sizeof(breaches) / sizeof(breaches[0]))

static void test_breaches(void **state)
{
    char said[2048], start[64];

    (void)state;
    for (size_t i = 0; i < BREACHES; i++) {
        int status = child_run(breaches[i].body, breaches[i].worst, said, sizeof(said));
        snprintf(start, sizeof(start), "efa contract: %s: ", breaches[i].rule);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strncmp(said, start, strlen(start)) != 0 ||
            strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("breach %zu, of rule %s: status %#x, said: %s", i, breaches[i].rule, (unsigned)status, said);
    }
}

static void test_all_rules_are_broken(void **state)
{
    static const char *const rules[] = {
#define RULE(name, text) #name,
#include "rules.def"
#undef RULE
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++) {
        size_t i = 0;
        while (i < BREACHES && strcmp(breaches[i].rule, rules[r]) != 0)
            i++;
        if (i == BREACHES)
            fail_msg("rule %s is broken by no test", rules[r]);
    }
}

/* A program that keeps them: messages to itself, of all kinds. */
static void keep_all(void)
{
    struct device d = device_start(QUEUE);
    int ends = 0;

    for (int round = 0; round < 50; round++, ends = 0) {
        for (int i = 0; i < 64; i++) {
            memset(d.buffer + 64 * i, i + round, 64);
            need(send_to(&d, d.self, i, (uint64_t)i) == 0);
            need(recv_from(&d, d.self, 64 + i, (uint64_t)i) == 0);
            need(recv_from(&d, d.self, 128 + i, 1000 + (uint64_t)i) == 0);
            need(fi_tinject(d.ep, d.buffer + 64 * i, 32, d.self, 1000 + (uint64_t)i) == 0);
        }
        while (ends < 3 * 64)
            ends += completed(&d) >= 0;
        need(memcmp(d.buffer, d.buffer + 64 * 64, 64 * 64) == 0);
        for (int i = 0; i < 64; i++)
            need(memcmp(d.buffer + 64 * i, d.buffer + 64 * (128 + i), 32) == 0);
    }
    for (int i = 0, end, written = 0; i < 64; i++, written = 0) {
        memset(d.buffer + 64 * i, i + 1, 64);
        need(write_to(&d, d.self, i, d.buffer + 64 * (64 + i), d.mr, 0x100 + (uint64_t)i) == 0);
        for (ends = 0; ends < 2; ends += end >= 0)
            written |= (end = completed(&d)) == WRITTEN + 0x100 + i;
        need(written && memcmp(d.buffer + 64 * i, d.buffer + 64 * (64 + i), 64) == 0);
    }
    need(recv_from(&d, d.self, 0, 1) == 0);
    need(fi_cancel(&d.ep->fid, &contexts[0]) == 0);
    need(completed(&d) == -2);
    device_close(&d);
}

static void test_keeping_them_passes(void **state)
{
    char said[2048];

    (void)state;
    if (child_run(keep_all, "", said, sizeof(said)) != 0 || said[0] != '\0')
        fail_msg("said: %s", said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_breaches), cmocka_unit_test(test_all_rules_are_broken),
                                       cmocka_unit_test(test_keeping_them_passes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
