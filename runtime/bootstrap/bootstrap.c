/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the launcher, and values of any length over stores that take short ones.  The launcher is the one whose variables are
 * in the environment, in the order of hx_boot_kinds. If a launcher runs inside the job of another, the inner one counts:
 * store_client.c and pmi1.c find it. The child of a rank belongs to no job. It is recognised: its HX_SECRET is overwritten (env.c),
 * its PMI_FD is closed, and under PMIx it finds the rank among its ancestors (pmix.c).  A value is stored as its length (8 bytes)
 * and its bytes, cut into pieces that the launcher's store takes. Piece i of key K, put after f fences, has the key "hx.f.K.i",
 * because some stores (PMI-1) never delete a key and never take it twice. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 10 /* pause after a descriptor whose answer function could do nothing */
#define KEY_MAX_BYTES 40 /* leaves room for "hx.", the fence and the piece in HX_BOOT_KEY_BYTES */
#define VALUE_MAX_BYTES ((size_t)1 << 30)
#define LENGTH_BYTES 8

static int single_present(const struct hx_env *env)
{
    (void)env;
    return 1;
}

/* HX_BOOTSTRAP's choices in env.def are "auto" and then these rows in this order. */
const struct hx_boot_kind hx_boot_kinds[] = {
    {"tcp", "HX_ROOT, HX_RANK and HX_SIZE", hx_boot_tcp_present, hx_boot_tcp_open},
    {"pmi1", "PMI_FD, PMI_RANK and PMI_SIZE", hx_boot_pmi1_present, hx_boot_pmi1_open},
    {"pmix", "PMIX_NAMESPACE and PMIX_RANK", hx_boot_pmix_present, hx_boot_pmix_open},
    {"single", "none", single_present, hx_boot_single_open},
    {NULL, NULL, NULL, NULL},
};

hx_status_t hx_boot_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot)
{
    *boot = NULL;
    if (callbacks)
        return hx_boot_user_open(env, callbacks, boot);
    for (int i = 0; hx_boot_kinds[i].name; i++) {
        const struct hx_boot_kind *kind = &hx_boot_kinds[i];

        if (env->bootstrap != 0 && env->bootstrap != i + 1)
            continue;
        const int present = kind->present(env);
        if (present < 0)
            return HX_ERR_ENV;
        if (present)
            return kind->open(env, boot);
        if (env->bootstrap != 0)
            return hx_fail(HX_ERR_ENV,
                           "HX_BOOTSTRAP=%s, but this process was not started that way: %s missing from the "
                           "environment",
                           kind->name, kind->needs);
    }
    return hx_fail(HX_ERR_INTERNAL, "HX_BOOTSTRAP has choice %d, but hx_boot_kinds has no such row", env->bootstrap);
}

const char *hx_boot_name(const struct hx_boot *boot)
{
    return boot->ops->name;
}

int hx_boot_rank(const struct hx_boot *boot)
{
    return boot->rank;
}

int hx_boot_size(const struct hx_boot *boot)
{
    return boot->size;
}

static void name_piece(int fence, const char *key, size_t piece, char name[HX_BOOT_KEY_BYTES])
{
    snprintf(name, HX_BOOT_KEY_BYTES, "hx.%d.%.*s.%zu", fence, KEY_MAX_BYTES, key, piece);
}

/* The rank that puts key: see hx_boot_put. */
static long key_owner(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0' ? strtol(dot + 1, NULL, 10) : 0;
}

static hx_status_t check_key(const char *key)
{
    if (!*key || strlen(key) > KEY_MAX_BYTES || strpbrk(key, " \t\n=;"))
        return hx_fail(HX_ERR_INTERNAL,
                       "bootstrap key \"%s\" is empty, longer than %d, or has white space, '=' or ';'", key,
                       KEY_MAX_BYTES);
    return HX_SUCCESS;
}

static void hex_encode(const unsigned char *bytes, size_t count, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * count] = '\0';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place: bytes[i] is written after text[2i] and text[2i + 1] were read. Returns the count, or -1. */
static long hex_decode(char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i += 2) {
        const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

        if (high < 0 || low < 0)
            return -1;
        text[i / 2] = (char)(high << 4 | low);
    }
    return length % 2 ? -1 : (long)(length / 2);
}

static size_t piece_capacity(const struct hx_boot *boot)
{
    return boot->ops->text ? boot->piece_bytes / 2 : boot->piece_bytes;
}

hx_status_t hx_boot_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    hx_status_t status = check_key(key);
    const size_t total = LENGTH_BYTES + bytes, capacity = piece_capacity(boot);

    if (status)
        return status;
    if (key_owner(key) != boot->rank)
        return hx_fail(HX_ERR_INTERNAL, "bootstrap key \"%s\" is for rank %ld to put, not for rank %d", key,
                       key_owner(key), boot->rank);
    if (bytes > VALUE_MAX_BYTES)
        return hx_fail(HX_ERR_INTERNAL, "bootstrap value of \"%s\" has %zu bytes, more than %zu", key, bytes,
                       VALUE_MAX_BYTES);
    unsigned char *blob = malloc(total);
    char *text = boot->ops->text ? malloc(2 * capacity + 1) : NULL;
    if (!blob || (boot->ops->text && !text)) {
        status = hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of bootstrap key \"%s\"", total, key);
        goto release;
    }
    for (int i = 0; i < LENGTH_BYTES; i++)
        blob[i] = (unsigned char)((uint64_t)bytes >> (8 * i));
    if (bytes)
        memcpy(blob + LENGTH_BYTES, value, bytes);
    for (size_t piece = 0, at = 0; at < total && !status; piece++) {
        const size_t n = total - at < capacity ? total - at : capacity;
        char name[HX_BOOT_KEY_BYTES];

        name_piece(boot->fences, key, piece, name);
        if (text)
            hex_encode(blob + at, n, text);
        status = boot->ops->put(boot, name, text ? (const void *)text : blob + at, text ? 2 * n : n);
        at += n;
    }
release:
    free(text);
    free(blob);
    return status;
}

hx_status_t hx_boot_fence(struct hx_boot *boot)
{
    if (!boot->broken && (boot->broken = boot->ops->fence(boot)) == HX_SUCCESS)
        boot->fences++;
    return boot->broken;
}

/* One stored piece, decoded; *piece is NULL when it is not there. */
static hx_status_t get_piece(struct hx_boot *boot, int fence, const char *key, size_t idx, unsigned char **piece,
                             size_t *bytes)
{
    char name[HX_BOOT_KEY_BYTES];
    void *raw = NULL;

    *piece = NULL;
    name_piece(fence, key, idx, name);
    const hx_status_t status = boot->ops->get(boot, (int)key_owner(key), name, &raw, bytes);
    if (status || !raw)
        return status;
    if (boot->ops->text) {
        const long count = hex_decode(raw, *bytes);

        if (count < 0) {
            free(raw);
            return hx_fail(HX_ERR_BOOTSTRAP,
                           "the %s store returned a damaged value for key \"%s\" (not hexadecimal text)",
                           boot->ops->name, name);
        }
        *bytes = (size_t)count;
    }
    *piece = raw;
    return HX_SUCCESS;
}

/* Fetch pieces 1, 2, ... behind the first, which has `have` of the value's bytes. */
static hx_status_t get_rest(struct hx_boot *boot, int fence, const char *key, char *value, size_t have, size_t total)
{
    for (size_t idx = 1; have < total; idx++) {
        unsigned char *piece;
        size_t bytes;
        const hx_status_t status = get_piece(boot, fence, key, idx, &piece, &bytes);

        if (status)
            return status;
        if (!piece || bytes == 0 || bytes > total - have) {
            free(piece);
            return hx_fail(HX_ERR_BOOTSTRAP,
                           "the %s store holds %zu of %zu bytes of key \"%s\": piece %zu is missing or too "
                           "long",
                           boot->ops->name, have, total, key, idx);
        }
        memcpy(value + have, piece, bytes);
        have += bytes;
        free(piece);
    }
    return HX_SUCCESS;
}

hx_status_t hx_boot_get(struct hx_boot *boot, const char *key, void **value, size_t *bytes)
{
    hx_status_t status = check_key(key);
    unsigned char *piece = NULL;
    size_t have = 0;
    int fence = boot->fences;

    *value = NULL;
    *bytes = 0;
    if (!status && key_owner(key) >= boot->size)
        return hx_fail(HX_ERR_BOOTSTRAP, "bootstrap key \"%s\" belongs to rank %ld, but there are %d ranks", key,
                       key_owner(key), boot->size);
    while (!status && !piece && fence > 0) /* the newest first */
        status = get_piece(boot, --fence, key, 0, &piece, &have);
    if (status)
        return status;
    if (!piece)
        return hx_fail(HX_ERR_BOOTSTRAP,
                       "no rank has put the bootstrap key \"%s\" before one of the %d fences so far", key,
                       boot->fences);
    uint64_t total = 0;
    for (int i = 0; i < LENGTH_BYTES && have >= LENGTH_BYTES; i++)
        total |= (uint64_t)piece[i] << (8 * i);
    if (have < LENGTH_BYTES || total > VALUE_MAX_BYTES || have - LENGTH_BYTES > total) {
        free(piece);
        return hx_fail(HX_ERR_BOOTSTRAP,
                       "the %s store returned a damaged value for key \"%s\": %zu bytes that claim to be %llu",
                       boot->ops->name, key, have, (unsigned long long)total);
    }
    char *whole = malloc(total ? total : 1);
    if (whole) {
        memcpy(whole, piece + LENGTH_BYTES, have - LENGTH_BYTES);
        status = get_rest(boot, fence, key, whole, have - LENGTH_BYTES, total);
    } else {
        status =
            hx_fail(HX_ERR_NOMEM, "no memory for %llu bytes of bootstrap key \"%s\"", (unsigned long long)total, key);
    }
    free(piece);
    if (status) {
        free(whole);
        return status;
    }
    *value = whole;
    *bytes = total;
    return HX_SUCCESS;
}

void hx_boot_abort(struct hx_boot *boot, const char *why)
{
    boot->ops->abort_job(boot, why);
}

void hx_boot_close(struct hx_boot *boot, int finalize)
{
    if (boot)
        boot->ops->close(boot, finalize);
}

void hx_boot_close_in_child(const struct hx_boot *boot)
{
    if (boot->ops->close_in_child)
        boot->ops->close_in_child(boot);
}

static _Thread_local struct {
    int fd;
    int (*answer)(void *arg);
    void *arg;
} wait_hook = {.fd = -1};

void hx_boot_on_wait(int fd, int (*answer)(void *arg), void *arg)
{
    wait_hook.fd = fd;
    wait_hook.answer = answer;
    wait_hook.arg = arg;
}

int hx_boot_wait_fd(int fd, short events, double deadline)
{
    struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = wait_hook.fd, .events = POLLIN}};

    for (;;) {
        const int ms = hx_deadline_ms(deadline);
        const int ready = poll(fds, 2, fds[1].fd < 0 && wait_hook.fd >= 0 && ms > BUSY_MS ? BUSY_MS : ms);

        if (ready < 0 && errno != EINTR)
            return -1;
        if (ready > 0 && fds[0].revents)
            return 1;
        fds[1].fd = ready > 0 && !wait_hook.answer(wait_hook.arg) ? -1 : wait_hook.fd;
        if (hx_deadline_passed(deadline))
            return 0;
    }
}

_Static_assert(HX_SECRET_BYTES == crypto_kdf_KEYBYTES, "size that libsodium needs");

void hx_key_derive(const unsigned char secret[HX_SECRET_BYTES], enum hx_key_use use, unsigned char key[HX_KEY_BYTES])
{
    crypto_kdf_derive_from_key(key, HX_KEY_BYTES, (uint64_t)use, "hierax_1", secret);
}
