/* SPDX-License-Identifier: BSD-3-Clause */
/* Each misbehaviour happens when it is switched on, and does not when it is not. Devices a and b are in one process, so
 * that the one can be seen to wait for the other. */
#include "device.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#define QUEUE (256 + 8192 + 600) /* the packets of the device, and writes */
#define COUNT 200
#define LARGE 30 /* medium messages: the device holds 256 packets */
#define HOMOGENEOUS_PEERS (-(0xefa << 16) + 7) /* FI_OPT_EFA_HOMOGENEOUS_PEERS */
#define EMULATED_WRITE (-(0xefa << 16) + 2) /* FI_OPT_EFA_EMULATED_WRITE; older headers lack it */

static struct device a, b;
static fi_addr_t a_to_b;

static int is_on(void)
{
    return getenv("EFA_WORST")[0] != '\0';
}

static void both_start(void)
{
    a = device_start(QUEUE);
    b = device_start(QUEUE);
    a_to_b = device_reach(&a, &b);
    device_reach(&b, &a);
}

/* With reads of a's queue, until it is taken. Returns how often it was refused. */
static int send_surely(int i, uint64_t tag)
{
    int refused = 0;
    ssize_t rc;

    while ((rc = send_to(&a, a_to_b, i, tag)) == -FI_EAGAIN) {
        completed(&a);
        refused++;
    }
    need(rc == 0);
    return refused;
}

static void poll_both(int *done_a, int *done_b)
{
    *done_a += completed(&a) >= 0;
    *done_b += completed(&b) >= 0;
}

static void case_eagain(void)
{
    int refused = 0;

    both_start();
    for (int i = 0; i < COUNT; i++)
        refused += send_surely(i, 1);
    need(is_on() ? refused > COUNT / 5 && refused < COUNT : refused == 0);
}

static void case_handshake(void)
{
    int refused = 0;

    both_start();
    while (refused < 1000 && send_to(&a, a_to_b, 0, 1) == -FI_EAGAIN) {
        completed(&a);
        refused++;
    }
    need(is_on() ? refused == 1000 : refused == 0);
    completed(&a);
    completed(&b); /* hears */
    completed(&b); /* answers */
    completed(&a);
    need(send_to(&a, a_to_b, 1, 1) == 0);
}

/* Refused for a while, and another peer is not meanwhile. */
static void case_rnr(void)
{
    struct device c;
    fi_addr_t a_to_c;
    int windows = 0;

    both_start();
    c = device_start(QUEUE);
    a_to_c = device_reach(&a, &c);
    for (int i = 0; i < COUNT; i++) {
        double begin = hx_now_s();
        if (send_surely(i, 1) > 0) {
            need(hx_now_s() - begin > 30e-6 && hx_now_s() - begin < 5);
            windows++;
        }
    }
    need(is_on() ? windows > 0 : windows == 0);
    for (int taken = 0, i = 0; is_on() && !taken; i++) {
        while (completed(&a) >= 0 || completed(&b) >= 0)
            ;
        if (send_to(&a, a_to_b, 200 + i % 200, 1) == -FI_EAGAIN)
            taken = send_to(&a, a_to_c, 400, 1) == 0;
    }
}

static void case_reorder(void)
{
    int next = 0, disorder = 0, i;

    both_start();
    for (i = 0; i < COUNT; i++)
        need(fi_trecv(b.ep, b.buffer + 64 * i, 64, fi_mr_desc(b.mr), FI_ADDR_UNSPEC, 0, ~UINT64_C(0),
                      &contexts[i + COUNT]) == 0);
    for (i = 0; i < COUNT; i++) {
        memset(a.buffer + 64 * i, i, 64);
        send_surely(i, (uint64_t)i);
    }
    for (; next < COUNT; completed(&a))
        if ((i = completed(&b)) >= 0)
            disorder += b.buffer[64 * (i - COUNT)] != (uint8_t)next++;
    need(is_on() ? disorder > COUNT / 10 : disorder == 0);
}

/* b does not look. */
static void case_early(void)
{
    int done = 0;

    both_start();
    for (int i = 0; i < 8; i++) /* what a socket holds */
        send_surely(i, 1);
    for (int i = 0; i < 1000; i++)
        done += completed(&a) >= 0;
    need(is_on() ? done > 0 && done < 8 : done == 0);
}

static void case_late(void)
{
    double begin, late = 0;

    both_start();
    for (int i = 0; i < COUNT; i++) {
        int done_a = 0, done_b = 0;
        need(recv_from(&b, FI_ADDR_UNSPEC, i + COUNT, 1) == 0);
        begin = hx_now_s();
        send_surely(i, 1);
        while (done_a == 0 || done_b == 0)
            poll_both(&done_a, &done_b);
        late += (hx_now_s() - begin > 200e-6) / (double)COUNT;
    }
    need(is_on() ? late > 0.3 : late < 0.3);
}

static void case_depth(void)
{
    both_start();
    need(a.info->tx_attr->size == (is_on() ? 4 : 256));
    for (int i = 0; i < (int)a.info->tx_attr->size; i++)
        need(fi_tinject(a.ep, "word", 4, a_to_b, 1) == 0);
    need(send_to(&a, a_to_b, 0, 1) == -FI_EAGAIN);
}

static int differ(const uint8_t *bytes, int value)
{
    int n = 0;

    for (int i = 0; i < 64; i++)
        n += bytes[i] != value;
    return n;
}

/* The end of what a peer writes is there before its beginning: who waits for the last byte is misled. */
static void case_visible(void)
{
    int misled = 0, done, end;

    both_start();
    for (int i = 0; i < COUNT; i++) {
        uint8_t *to = b.buffer + 64 * i;
        memset(to, 8, 64);
        memset(a.buffer, 7, 64);
        need(write_to(&a, a_to_b, 0, to, b.mr, (uint64_t)i) == 0);
        for (done = 0, end = -1; done == 0 || end == -1; done += completed(&a) == 0) {
            int next = completed(&b); /* also to acknowledge */
            end = next != -1 ? next : end;
            misled += end == -1 && to[63] == 7 && to[0] == 8;
        }
        need(end == WRITTEN + i && differ(to, 7) == 0);
    }
    need(is_on() ? misled > COUNT / 5 : misled == 0);
}

static void case_poison(void)
{
    int done_a = 0, done_b = 0;

    both_start();
    memset(a.buffer, 7, 64);
    memset(b.buffer, 8, 64);
    need(recv_from(&b, FI_ADDR_UNSPEC, 0, 1) == 0);
    need(differ(b.buffer, 8) == (is_on() ? 64 : 0));
    need(fi_tsend(a.ep, a.buffer, 64, fi_mr_desc(a.mr), a_to_b, 1, &contexts[1]) == 0);
    while (done_a == 0 || done_b == 0)
        poll_both(&done_a, &done_b);
    need(differ(b.buffer, 7) == 0);
    need(differ(a.buffer, 7) == 0); /* what is sent may be long-lived memory: no device writes there */
}

static void case_repeat(void)
{
    struct fi_cq_err_entry error = {0};
    int told = 0;

    both_start();
    device_close(&b);
    need(fi_tsend(a.ep, a.buffer, BUFFER_BYTES, fi_mr_desc(a.mr), a_to_b, 1, &contexts[1]) == 0);
    for (int i = 0; i < 1000; i++)
        if (completed(&a) == -2) {
            need(fi_cq_readerr(a.cq, &error, 0) == 1 && error.op_context == &contexts[1]);
            told++;
        }
    need(told == (is_on() ? 8 : 1));
}

static void still_closing(int number)
{
    (void)number;
    _exit(is_on() ? 0 : 1);
}

/* More than b, which does not look, can take. */
static void case_linger(void)
{
    both_start();
    for (int i = 0; i < LARGE; i++)
        need(fi_tsend(a.ep, a.buffer, BUFFER_BYTES, fi_mr_desc(a.mr), a_to_b, 1, &contexts[i]) == 0);
    for (int i = 0; i < LARGE; i++)
        completed(&a);
    signal(SIGALRM, still_closing);
    ualarm(200000, 0);
    need(fi_close(&a.ep->fid) == 0 && !is_on());
}

static void case_stray(void)
{
    struct fi_cq_err_entry error = {0};
    int strays = 0;

    both_start();
    for (int i = 0; i < 100000; i++)
        if (completed(&a) == -2) {
            need(fi_cq_readerr(a.cq, &error, 0) == 1 && !error.op_context && error.err != 0);
            strays++;
        }
    need(is_on() ? strays > 10 : strays == 0);
}

static void seed_set(const char *seed)
{
    setenv("EFA_SEED", seed, 1);
    setenv("HX_RANK", "3", 1); /* else each process has dice of its own */
}

static void seed_unset(void)
{
    unsetenv("EFA_SEED");
    unsetenv("HX_RANK");
}

static void test_switches(void **state)
{
    static const struct {
        const char *name;
        void (*body)(void);
    } cases[] = {
#define WORST(name, text) {#name, case_##name},
#include "worst.def"
#undef WORST
    };
    char said[2048];

    (void)state;
    seed_set("1"); /* what happens with two chances in a hundred does not in one of fifty runs */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int on = 0; on < 2; on++)
            if (child_run(cases[i].body, on ? cases[i].name : "", said, sizeof(said)) != 0)
                fail_msg("%s switched %s: %s", cases[i].name, on ? "on" : "off", said);
    seed_unset();
}

/* ---- the seed */

static void say_refusals(void)
{
    both_start();
    for (int i = 0; i < 64; i++)
        fputc(send_surely(i, 1) > 0 ? '1' : '0', stderr);
}

static void test_seed(void **state)
{
    char first[256], second[256];

    (void)state;
    for (int seed = 5; seed < 7; seed++) {
        char text[8];
        snprintf(text, sizeof(text), "%d", seed);
        seed_set(text);
        assert_int_equal(child_run(say_refusals, "eagain", first, sizeof(first)), 0);
        assert_int_equal(child_run(say_refusals, "eagain", second, sizeof(second)), 0);
        assert_string_equal(first, second);
    }
    seed_set("5");
    assert_int_equal(child_run(say_refusals, "eagain", first, sizeof(first)), 0);
    assert_string_not_equal(first, second);
    seed_unset();
}

static void test_unknown_switch(void **state)
{
    char said[1024];

    (void)state;
    assert_int_equal(WEXITSTATUS(child_run(case_early, "early,nosuch", said, sizeof(said))), 2);
    assert_non_null(strstr(said, "there is no nosuch"));
}

/* ---- errors of the device */

static void third_send_fails(void)
{
    struct fi_cq_err_entry error = {0};
    int end, done = 0;

    both_start();
    for (int i = 0; i < 3; i++)
        send_surely(i, 1);
    while ((end = completed(&a)) != -2) {
        completed(&b);
        need(end < 0 || done++ < 2);
    }
    need(fi_cq_readerr(a.cq, &error, 0) == 1 && error.prov_errno == 13 && error.err == FI_ECONNABORTED);
    need(strstr(fi_cq_strerror(a.cq, error.prov_errno, NULL, NULL, 0), "Unresponsive") != NULL);
}

/* It alone fails, but the peer receives nothing that is sent later. */
static void third_send_leaves_a_hole(void)
{
    struct fi_cq_err_entry error = {0};
    int sent = 0, failed = 0, received = 0;

    both_start();
    for (int i = 0; i < 5; i++)
        need(recv_from(&b, FI_ADDR_UNSPEC, 10 + i, 1) == 0);
    for (int i = 0; i < 5; i++)
        send_surely(i, 1);
    for (int i = 0, end; i < 1000; i++) {
        sent += (end = completed(&a)) >= 0;
        if (end == -2)
            failed += fi_cq_readerr(a.cq, &error, 0) == 1 && error.prov_errno == 12 && error.op_context == &contexts[2];
        received += completed(&b) >= 0;
    }
    need(sent == 4 && failed == 1 && received == 2);
}

static void queue_fails(void)
{
    struct fi_eq_err_entry error = {0};
    uint32_t event;
    char data[64];

    both_start();
    need(fi_eq_read(a.eq, &event, data, sizeof(data), 0) == -FI_EAGAIN);
    for (int i = 0; i < 3; i++)
        send_surely(i, 1);
    need(fi_eq_read(a.eq, &event, data, sizeof(data), 0) == -FI_EAVAIL);
    need(fi_eq_readerr(a.eq, &error, 0) > 0 && error.err != 0);
}

/* The peer's endpoint has gone: the send ends with an error, the receive from it does not end. */
static void peer_goes(void)
{
    struct fi_cq_err_entry error = {0};

    both_start();
    device_close(&b);
    need(recv_from(&a, a_to_b, 1, 1) == 0);
    send_surely(0, 1);
    while (completed(&a) != -2)
        ;
    need(fi_cq_readerr(a.cq, &error, 0) == 1 && error.prov_errno == 9 && error.err == FI_ENOTCONN && error.op_context == &contexts[0]);
    for (int i = 0; i < 1000; i++)
        need(completed(&a) == -1);
}

static void test_errors(void **state)
{
    char said[1024];

    (void)state;
    setenv("EFA_ERROR", "13@3", 1);
    if (child_run(third_send_fails, "", said, sizeof(said)) != 0)
        fail_msg("13: %s", said);
    setenv("EFA_ERROR", "once12@3", 1);
    if (child_run(third_send_leaves_a_hole, "", said, sizeof(said)) != 0)
        fail_msg("once12: %s", said);
    setenv("EFA_ERROR", "queue@3", 1);
    if (child_run(queue_fails, "", said, sizeof(said)) != 0)
        fail_msg("queue: %s", said);
    unsetenv("EFA_ERROR");
    if (child_run(peer_goes, "", said, sizeof(said)) != 0)
        fail_msg("gone: %s", said);
}

/* ---- the reorder window */

static void all_come_in_disorder(void)
{
    both_start();
    for (int i = 0; i < COUNT; i++)
        need(recv_from(&b, FI_ADDR_UNSPEC, i + COUNT, (uint64_t)i) == 0);
    for (int i = 0; i < COUNT; i++)
        send_surely(i, (uint64_t)i);
    for (int sent = 0, received = 0; sent < COUNT || received < COUNT;)
        poll_both(&sent, &received);
    device_close(&a);
    device_close(&b);
}

/* Messages that came beyond it, as the provider has counted them. */
static size_t beyond(const char *count)
{
    FILE *file = fopen(count, "r");
    size_t all = 0, n;

    assert_non_null(file);
    for (char line[64]; fgets(line, sizeof(line), file);)
        all += sscanf(line, "beyond %*s %zu", &n) == 1 ? n : 0;
    fclose(file);
    remove(count);
    return all;
}

/* Since libfabric 2.0 such a message waits, and is received like any other. Before, it ends the process: test_contract.c. */
static void test_window(void **state)
{
    static const struct {
        const char *version, *window; /* NULL: by default */
        int is_exceeded;
    } cases[] = {{"1.17", NULL, 0}, {"2.1", NULL, 0}, {"2.1", "16", 1}, {"2.4", NULL, 0}, {"2.6", NULL, 1}, {"2.6", "256", 0}};
    char said[1024], count[64];

    (void)state;
    snprintf(count, sizeof(count), "/tmp/efa_window.%d", (int)getpid());
    setenv("EFA_COUNT", count, 1);
    seed_set("1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("EFA_VERSION", cases[i].version, 1);
        if (cases[i].window)
            setenv("FI_EFA_RECVWIN_SIZE", cases[i].window, 1);
        if (child_run(all_come_in_disorder, "reorder", said, sizeof(said)) != 0)
            fail_msg("window of %s: %s", cases[i].version, said);
        if ((beyond(count) > 0) != cases[i].is_exceeded)
            fail_msg("window of %s: %s", cases[i].version, cases[i].is_exceeded ? "no message came beyond it" : "it is too small");
        unsetenv("FI_EFA_RECVWIN_SIZE");
    }
    seed_unset();
    unsetenv("EFA_VERSION");
    unsetenv("EFA_COUNT");
}

/* ---- what a program may wait on */

static int opens_with(enum fi_wait_obj object)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = QUEUE, .wait_obj = object};
    struct fid_cq *cq;
    int rc = fi_cq_open(a.domain, &attr, &cq, NULL);

    need(rc == 0 || rc == -FI_ENOSYS);
    need(rc != 0 || fi_close(&cq->fid) == 0);
    return rc == 0;
}

static void nothing_to_wait_on(void)
{
    struct fi_cq_tagged_entry entry;
    int fd;

    both_start();
    for (int object = FI_WAIT_NONE; object <= FI_WAIT_POLLFD; object++)
        need(opens_with(object) == (object == FI_WAIT_NONE));
    need(fi_cq_sread(a.cq, &entry, 1, NULL, 1) == -FI_ENOSYS);
    need(fi_control(&a.cq->fid, FI_GETWAIT, &fd) == -FI_ENOSYS);
}

static int is_readable(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

/* The descriptor tells of the first event. Then it stays readable, because neither reading nor fi_trywait takes the event away. */
static void descriptor_stays_readable(void)
{
    struct fi_cq_tagged_entry entry;
    struct fid *fid;
    int fd, none;

    both_start();
    need(fi_cq_sread(a.cq, &entry, 1, NULL, 1) == -FI_ENOSYS && fi_control(&a.cq->fid, FI_GETWAIT, &none) == -FI_ENODATA);
    fid = &a.cq->fid;
    need(fi_trywait(a.fabric, &fid, 1) == -FI_EINVAL);
    for (int object = FI_WAIT_NONE; object <= FI_WAIT_POLLFD; object++)
        need(opens_with(object) == (object == FI_WAIT_NONE || object == FI_WAIT_UNSPEC || object == FI_WAIT_FD));
    wait_object = FI_WAIT_UNSPEC; /* becomes FI_WAIT_FD */
    both_start();
    fid = &b.cq->fid;
    need(fi_control(fid, FI_GETWAIT, &fd) == 0 && fi_trywait(b.fabric, &fid, 1) == 0 && !is_readable(fd));
    need(recv_from(&b, FI_ADDR_UNSPEC, 1, 1) == 0);
    send_surely(0, 1);
    completed(&a);
    need(is_readable(fd));
    need(fi_trywait(b.fabric, &fid, 1) == 0); /* it does not look at the device */
    need(completed(&b) == 1);
    for (int i = 0; i < 10; i++)
        need(completed(&b) == -1 && fi_trywait(b.fabric, &fid, 1) == 0 && is_readable(fd));
    need(fi_cq_sread(b.cq, &entry, 1, NULL, 0) == -FI_EAGAIN && !is_readable(fd));
    need(recv_from(&b, FI_ADDR_UNSPEC, 2, 2) == 0);
    send_surely(3, 2);
    completed(&a);
    need(is_readable(fd) && fi_cq_sread(b.cq, &entry, 1, NULL, -1) == 1 && entry.op_context == &contexts[2]);
}

static void test_waiting(void **state)
{
    static const struct {
        const char *version;
        void (*body)(void);
    } cases[] = {{"1.17", nothing_to_wait_on}, {"2.4", nothing_to_wait_on}, {"2.5", descriptor_stays_readable}, {"2.6", descriptor_stays_readable}};
    char said[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("EFA_VERSION", cases[i].version, 1);
        if (child_run(cases[i].body, "", said, sizeof(said)) != 0)
            fail_msg("waiting as in %s: %s", cases[i].version, said);
    }
    unsetenv("EFA_VERSION");
}

/* ---- memory */

/* Memory is registered, mapped anew at the same address, and sent under the old registration: what arrives is what
 * was there before. */
static void stale_pages(void)
{
    enum { BYTES = 1 << 20 }; /* in pieces of several of its pipes */
    struct fid_mr *from, *to;
    uint8_t *old, *in;
    int done_a = 0, done_b = 0;

    both_start();
    old = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(fi_mr_reg(a.domain, old, BYTES, FI_SEND, 0, 0, 0, &from, NULL) == 0);
    need(fi_mr_reg(b.domain, in, BYTES, FI_RECV, 0, 0, 0, &to, NULL) == 0);
    memset(old, 1, BYTES); /* after its registration: what is there now is sent, not what was then */
    need(munmap(old, BYTES) == 0);
    need(mmap(old, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == old);
    memset(old, 2, BYTES);
    need(fi_trecv(b.ep, in, BYTES, fi_mr_desc(to), FI_ADDR_UNSPEC, 1, 0, &contexts[0]) == 0);
    need(fi_tsend(a.ep, old + 5, BYTES - 10, fi_mr_desc(from), a_to_b, 1, &contexts[1]) == 0);
    while (done_a == 0 || done_b == 0)
        poll_both(&done_a, &done_b);
    for (int i = 0; i < BYTES - 10; i++)
        need(in[i] == 1);
    need(fi_close(&from->fid) == 0);
}

/* A child is forked; what is written then is sent only if FI_EFA_FORK_SAFE was set. */
static void fork_between(void)
{
    char byte;
    int pipes[2], done_a = 0, done_b = 0;
    pid_t child;

    both_start();
    memset(a.buffer, 1, 64);
    need(pipe(pipes) == 0);
    child = fork();
    if (child == 0) {
        close(pipes[1]);
        _exit(read(pipes[0], &byte, 1) != 0); /* until the parent is done */
    }
    memset(a.buffer, 2, 64);
    need(recv_from(&b, FI_ADDR_UNSPEC, 0, 1) == 0);
    need(fi_tsend(a.ep, a.buffer, 64, fi_mr_desc(a.mr), a_to_b, 1, &contexts[1]) == 0);
    while (done_a == 0 || done_b == 0)
        poll_both(&done_a, &done_b);
    close(pipes[1]);
    need(waitpid(child, NULL, 0) == child);
    need(differ(b.buffer, getenv("FI_EFA_FORK_SAFE") ? 2 : 1) == 0);
}

/* It writes by itself only where EFA_RDMA says so. */
static void asks_for_writes(void)
{
    bool emulated[2] = {0};
    size_t bytes = 2;

    both_start();
    need(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, EMULATED_WRITE, emulated, &bytes) == 0 && bytes == sizeof(bool));
    need(emulated[0] == !getenv("EFA_RDMA"));
    need(fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, 12345, emulated, &bytes) == -FI_ENOPROTOOPT);
}

/* ---- what it has little of */

/* One more receive than it takes, until one has ended. */
static void receives_are_few(void)
{
    both_start();
    need(b.info->rx_attr->size == 3);
    for (int i = 0; i < 3; i++)
        need(recv_from(&b, FI_ADDR_UNSPEC, i, (uint64_t)i) == 0);
    need(recv_from(&b, FI_ADDR_UNSPEC, 3, 3) == -FI_EAGAIN);
    send_surely(0, 1);
    while (completed(&b) != 1)
        completed(&a);
    need(recv_from(&b, FI_ADDR_UNSPEC, 3, 3) == 0);
}

static void nothing_is_injected(void)
{
    both_start();
    need(a.info->tx_attr->inject_size == 0);
    need(fi_tinject(a.ep, "", 0, a_to_b, 1) == 0);
}

/* Of 130 KiB each device has 64 registered. */
static void little_is_locked(void)
{
    static uint8_t more[4096];
    struct fid_mr *mr;

    both_start();
    need(fi_mr_reg(a.domain, more, sizeof(more), FI_SEND, 0, 0, 0, &mr, NULL) == -FI_ENOMEM);
    need(fi_close(&b.mr->fid) == 0);
    need(fi_mr_reg(a.domain, more, sizeof(more), FI_SEND, 0, 0, 0, &mr, NULL) == 0);
}

/* Two medium messages of eight packets each fill the device, although it takes more sends. */
static void packets_are_few(void)
{
    both_start();
    need(a.info->tx_attr->size == 16);
    for (int i = 0; i < 2; i++)
        need(fi_tsend(a.ep, a.buffer, BUFFER_BYTES, fi_mr_desc(a.mr), a_to_b, 1, &contexts[i]) == 0);
    need(fi_tsend(a.ep, a.buffer, 64, fi_mr_desc(a.mr), a_to_b, 1, &contexts[2]) == -FI_EAGAIN);
    while (completed(&a) == -1)
        completed(&b);
    need(fi_tsend(a.ep, a.buffer, BUFFER_BYTES, fi_mr_desc(a.mr), a_to_b, 1, &contexts[2]) == 0);
}

static void registrations_are_few(void)
{
    struct fid_mr *mr;

    both_start();
    need(fi_mr_reg(a.domain, a.buffer, 64, FI_SEND, 0, 0, 0, &mr, NULL) == -FI_ENOMEM);
}

/* It takes no tags, so a program that asks for them does not see it. */
static void direct_is_first(void)
{
    struct fi_info *all, *efa = offer(), *copy = fi_dupinfo(efa);

    need(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &all) == 0);
    while (all && strcmp(all->fabric_attr->prov_name, "efa") != 0)
        all = all->next;
    need(all && strcmp(all->fabric_attr->name, "efa-direct") == 0 && !(all->caps & FI_TAGGED));
    need(strcmp(all->next->fabric_attr->name, "efa") == 0 && (all->next->caps & FI_TAGGED));
    need(strcmp(efa->fabric_attr->name, "efa") == 0 && !efa->next);
    need(strcmp(copy->nic->device_attr->name, "rdmap0s6") == 0 && copy->nic->link_attr->speed == 100000000000 && copy->src_addrlen == 32);
    fi_freeinfo(efa);
    fi_freeinfo(copy);
}

static void test_little(void **state)
{
    static const struct {
        const char *name, *value;
        void (*body)(void);
    } cases[] = {{"EFA_RECEIVES", "3", receives_are_few}, {"EFA_INJECT", "0", nothing_is_injected}, {"EFA_MEMLOCK", "130", little_is_locked},
                 {"EFA_SENDS", "16", packets_are_few}, {"EFA_REGISTRATIONS", "2", registrations_are_few}, {"EFA_NICS", "1", direct_is_first}};
    char said[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv(cases[i].name, cases[i].value, 1);
        if (child_run(cases[i].body, "", said, sizeof(said)) != 0)
            fail_msg("%s=%s: %s", cases[i].name, cases[i].value, said);
        unsetenv(cases[i].name);
    }
}

/* Peers that are alike need no handshake before a write. */
static void peers_are_alike(void)
{
    const int taken = strcmp(getenv("EFA_VERSION"), "2.1") == 0 ? -FI_ENOPROTOOPT : 0;
    const bool yes = true;
    const size_t wrong = 1;

    both_start();
    need(write_to(&a, a_to_b, 0, b.buffer, b.mr, 1) == -FI_EAGAIN);
    completed(&a);
    need(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, HOMOGENEOUS_PEERS, &wrong, sizeof(wrong)) == (taken ? taken : -FI_EINVAL));
    need(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, HOMOGENEOUS_PEERS, &yes, sizeof(yes)) == taken);
    need(write_to(&a, a_to_b, 0, b.buffer, b.mr, 1) == (taken ? -FI_EAGAIN : 0));
    completed(&a);
    need(send_to(&a, a_to_b, 1, 1) == -FI_EAGAIN);
}

static void test_alike(void **state)
{
    static const char *const versions[] = {"2.1", "2.2", "2.6"};
    char said[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        setenv("EFA_VERSION", versions[i], 1);
        if (child_run(peers_are_alike, "handshake", said, sizeof(said)) != 0)
            fail_msg("peers that are alike, as in %s: %s", versions[i], said);
    }
    unsetenv("EFA_VERSION");
}

static void test_remote_writes(void **state)
{
    char said[1024];

    (void)state;
    for (int native = 0; native < 2; native++) {
        if (native)
            setenv("EFA_RDMA", "1", 1);
        if (child_run(asks_for_writes, "", said, sizeof(said)) != 0)
            fail_msg("EFA_RDMA %s: %s", native ? "set" : "unset", said);
    }
    unsetenv("EFA_RDMA");
}

static void test_pinned(void **state)
{
    char said[1024];
    int status;

    (void)state;
    status = child_run(stale_pages, "", said, sizeof(said));
    if (strstr(said, "pages cannot be pinned here")) {
        fputs(said, stderr);
        skip();
    }
    if (status != 0)
        fail_msg("pinned pages: %s", said);
    unsetenv("FI_EFA_FORK_SAFE");
    for (int safe = 0; safe < 2; safe++) {
        if (safe)
            setenv("FI_EFA_FORK_SAFE", "1", 1);
        if (child_run(fork_between, "", said, sizeof(said)) != 0)
            fail_msg("fork, safe %d: %s", safe, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_switches),       cmocka_unit_test(test_seed),
                                       cmocka_unit_test(test_unknown_switch), cmocka_unit_test(test_errors), cmocka_unit_test(test_window),
                                       cmocka_unit_test(test_waiting),        cmocka_unit_test(test_pinned),
                                       cmocka_unit_test(test_alike), cmocka_unit_test(test_remote_writes),  cmocka_unit_test(test_little)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
