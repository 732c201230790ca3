/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the launcher, and values of any length over stores that take short ones.  The launcher is the one whose variables are
 * in the environment, in the order of hx_boot_kinds. If a launcher runs inside the job of another, the inner one counts:
 * store_client.c and pmi1.c find it. The child of a rank belongs to no job. It is recognised: its HX_SECRET is overwritten (env.c),
 * its PMI_FD is closed, and under PMIx it finds the rank among its ancestors (pmix.c).  A value is stored as its length (8 bytes)
 * and its bytes, cut into pieces that the launcher's store takes. Piece i of key K, put after f fences, has the key "hx.f.K.i",
 * because some stores (PMI-1) never delete a key and never take it twice. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 10 /* pause after a descriptor whose answer function could do nothing */
#define KEY_MAX_BYTES 40 /* leaves room for "hx.", the fence and the piece in HX_BOOT_KEY_BYTES */
#define VALUE_MAX_BYTES ((size_t)1 << 30)
#define LENGTH_BYTES 8

/* HX_BOOTSTRAP's choices in env.def are "auto" and then these rows in this order. */
const struct hx_boot_kind *const hx_boot_kinds[] = {&hx_boot_tcp, &hx_boot_pmi1, &hx_boot_pmix, &hx_boot_single, NULL};

/* The launcher that env names or the environment shows. */
static hx_status_t kind_find(const struct hx_env *env, const struct hx_boot_kind **kind)
{
    for (int i = 0; (*kind = hx_boot_kinds[i]); i++) {
        if (env->bootstrap != 0 && env->bootstrap != i + 1)
            continue;
        const int present = (*kind)->present(env);
        if (present)
            return present < 0 ? HX_ERR_ENV : HX_SUCCESS;
        if (env->bootstrap != 0)
            return hx_fail(HX_ERR_ENV,
                           "HX_BOOTSTRAP=%s, but the environment has no %s. Start the job with such a launcher, or unset "
                           "HX_BOOTSTRAP",
                           (*kind)->name, (*kind)->needs);
    }
    return hx_fail(HX_ERR_INTERNAL, "HX_BOOTSTRAP has choice %d, but hx_boot_kinds has no such row", env->bootstrap);
}

static struct hx_boot *lent; /* NULL: none */

void hx_boot_lend(struct hx_boot *boot)
{
    lent = boot;
}

hx_status_t hx_boot_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot)
{
    const struct hx_boot_kind *kind = &hx_boot_user;
    hx_status_t status;

    *boot = lent;
    lent = NULL;
    if (*boot)
        return HX_SUCCESS;
    status = callbacks ? HX_SUCCESS : kind_find(env, &kind);
    if (status)
        return status;
    struct hx_boot *new = calloc(1, kind->bytes);
    if (!new)
        return hx_fail(HX_ERR_NOMEM, "no memory for the bootstrap");
    new->kind = kind;
    new->timeout = env->timeout;
    if (callbacks)
        new->calls = *callbacks;
    if ((status = kind->open(new, env)) != HX_SUCCESS)
        hx_boot_close(new, 0);
    else
        *boot = new;
    return status;
}

const char *hx_boot_name(const struct hx_boot *boot)
{
    return boot->kind->name;
}

int hx_boot_rank(const struct hx_boot *boot)
{
    return boot->rank;
}

int hx_boot_size(const struct hx_boot *boot)
{
    return boot->size;
}

void hx_boot_set_timeout(struct hx_boot *boot, double seconds)
{
    boot->timeout = seconds;
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

hx_status_t hx_boot_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    hx_status_t status = check_key(key);
    const size_t total = LENGTH_BYTES + bytes, capacity = boot->kind->text ? boot->piece_bytes / 2 : boot->piece_bytes;
    const uint64_t length = htole64(bytes);

    if (status)
        return status;
    if (key_owner(key) != boot->rank)
        return hx_fail(HX_ERR_INTERNAL, "bootstrap key \"%s\" is for rank %ld to put, not for rank %d", key,
                       key_owner(key), boot->rank);
    if (bytes > VALUE_MAX_BYTES)
        return hx_fail(HX_ERR_INTERNAL, "bootstrap value of \"%s\" has %zu bytes, more than %zu", key, bytes,
                       VALUE_MAX_BYTES);
    unsigned char *blob = malloc(total);
    char *text = boot->kind->text ? malloc(2 * capacity + 1) : NULL;
    if (!blob || (boot->kind->text && !text)) {
        status = hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of bootstrap key \"%s\"", total, key);
        goto release;
    }
    memcpy(blob, &length, LENGTH_BYTES);
    if (bytes)
        memcpy(blob + LENGTH_BYTES, value, bytes);
    for (size_t piece = 0, at = 0; at < total && !status; piece++) {
        const size_t n = total - at < capacity ? total - at : capacity;
        char name[HX_BOOT_KEY_BYTES];

        name_piece(boot->fences, key, piece, name);
        if (text)
            sodium_bin2hex(text, 2 * n + 1, blob + at, n);
        status = boot->kind->put(boot, name, text ? (const void *)text : blob + at, text ? 2 * n : n);
        at += n;
    }
release:
    free(text);
    free(blob);
    return status;
}

hx_status_t hx_boot_fence(struct hx_boot *boot)
{
    if (!boot->broken && (!boot->kind->fence || (boot->broken = boot->kind->fence(boot)) == HX_SUCCESS))
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
    const hx_status_t status = boot->kind->get(boot, (int)key_owner(key), name, &raw, bytes);
    if (status || !raw)
        return status;
    /* in place: a byte is written when its two digits have been read */
    if (boot->kind->text && sodium_hex2bin(raw, *bytes, raw, *bytes, NULL, bytes, NULL) != 0) {
        free(raw);
        return hx_fail(HX_ERR_BOOTSTRAP, "the %s store returned a damaged value for key \"%s\" (not hexadecimal text)",
                       boot->kind->name, name);
    }
    *piece = raw;
    return HX_SUCCESS;
}

/* Append pieces 1, 2, ... to the first, which has `have` bytes of total. */
static hx_status_t get_rest(struct hx_boot *boot, int fence, const char *key, unsigned char **blob, size_t have, size_t total)
{
    unsigned char *whole = realloc(*blob, total), *piece;
    size_t bytes;

    if (!whole)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of bootstrap key \"%s\"", total, key);
    *blob = whole;
    for (size_t idx = 1; have < total; idx++) {
        const hx_status_t status = get_piece(boot, fence, key, idx, &piece, &bytes);

        if (status)
            return status;
        if (!piece || bytes == 0 || bytes > total - have) {
            free(piece);
            return hx_fail(HX_ERR_BOOTSTRAP,
                           "the %s store holds %zu of %zu bytes of key \"%s\": piece %zu is missing or too "
                           "long",
                           boot->kind->name, have - LENGTH_BYTES, total - LENGTH_BYTES, key, idx);
        }
        memcpy(whole + have, piece, bytes);
        have += bytes;
        free(piece);
    }
    return HX_SUCCESS;
}

hx_status_t hx_boot_get(struct hx_boot *boot, const char *key, void **value, size_t *bytes)
{
    hx_status_t status = check_key(key);
    unsigned char *blob = NULL;
    size_t have = 0;
    uint64_t length = 0;
    const int fence = boot->fences - 1;

    *value = NULL;
    *bytes = 0;
    if (!status && key_owner(key) >= boot->size)
        return hx_fail(HX_ERR_BOOTSTRAP, "bootstrap key \"%s\" belongs to rank %ld, but there are %d ranks", key,
                       key_owner(key), boot->size);
    if (!status && fence >= 0)
        status = get_piece(boot, fence, key, 0, &blob, &have);
    if (status)
        return status;
    if (!blob)
        return hx_fail(HX_ERR_BOOTSTRAP, "rank %ld has not put the bootstrap key \"%s\" before fence %d", key_owner(key), key,
                       boot->fences);
    memcpy(&length, blob, have < LENGTH_BYTES ? have : LENGTH_BYTES);
    length = le64toh(length);
    if (have < LENGTH_BYTES || length > VALUE_MAX_BYTES || have - LENGTH_BYTES > length)
        status = hx_fail(HX_ERR_BOOTSTRAP,
                         "the %s store returned a damaged value for key \"%s\": %zu bytes that claim to be %llu",
                         boot->kind->name, key, have, (unsigned long long)length);
    else
        status = get_rest(boot, fence, key, &blob, have, LENGTH_BYTES + length);
    if (status) {
        free(blob);
        return status;
    }
    *value = memmove(blob, blob + LENGTH_BYTES, length);
    *bytes = length;
    return HX_SUCCESS;
}

void hx_boot_abort(struct hx_boot *boot, const char *why)
{
    if (boot->kind->abort_job)
        boot->kind->abort_job(boot, why);
}

void hx_boot_vanish(const struct hx_boot *boot)
{
    if (boot->kind->vanish)
        boot->kind->vanish(boot);
}

void hx_boot_close(struct hx_boot *boot, int finalize)
{
    if (boot && boot->kind->close)
        boot->kind->close(boot, finalize);
    free(boot);
}

void hx_boot_close_in_child(const struct hx_boot *boot)
{
    if (boot->kind->close_in_child)
        boot->kind->close_in_child(boot);
}

void hx_boot_forget_in_child(void)
{
    for (int i = 0; hx_boot_kinds[i]; i++)
        if (hx_boot_kinds[i]->forget_in_child)
            hx_boot_kinds[i]->forget_in_child();
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
