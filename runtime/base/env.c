/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings: load them (overrides, environment, defaults), send rank 0's to all, list them. The only place that reads
 * the environment.
 */
#include "runtime/base/env_value.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/name_distance.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECRET_HIDDEN "*" /* replaces each byte of the secret in the environment */

const char *const hx_env_source_names[] = {"default", "environment", "override", "rank 0", "site"};

#ifndef HX_SITE_TABLE
#define HX_SITE_TABLE HX_SYSCONFDIR "/hierax/table.json"
#endif

extern char **environ;

/* ---- names */

/* "NAME=value" to its row; *value is what follows the '='. NULL for a name that is not ours. */
static const struct hx_env_row *row_find(const char *assignment, const char **value)
{
    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        const size_t length = strlen(hx_env_rows[idx].name);
        if (strncmp(assignment, hx_env_rows[idx].name, length) == 0 && assignment[length] == '=') {
            *value = assignment + length + 1;
            return &hx_env_rows[idx];
        }
    }
    return NULL;
}

/* The new name of a setting of an earlier version; NULL: there was none of this name. */
static const char *renamed(const char *name, size_t length)
{
    static const char *const names[][2] = {
#define HX_ENV_RENAMED(old, now) {old, now},
#include "runtime/base/env.def"
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i][0]) == length && memcmp(names[i][0], name, length) == 0)
            return names[i][1];
    return NULL;
}

static void unknown_warn(const char *assignment, const char *where)
{
    const size_t length = strcspn(assignment, "="), compared = length < HX_NAME_BYTES ? length : HX_NAME_BYTES;
    const char *value, *nearest = hx_env_rows[0].name, *now;
    int best = INT32_MAX;

    if (strncmp(assignment, "HX_", 3) != 0 || row_find(assignment, &value))
        return;
    if ((now = renamed(assignment, length))) {
        hx_warn("setting %.*s in the %s is ignored: its name is now %s", (int)length, assignment, where, now);
        return;
    }
    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        const int distance = hx_name_distance(assignment, compared, hx_env_rows[idx].name);
        if (distance < best) {
            best = distance;
            nearest = hx_env_rows[idx].name;
        }
    }
    hx_warn("unknown setting %.*s in the %s is ignored; did you mean %s?", (int)length, assignment, where, nearest);
}

/* Ranks usually share their environment: one of them says what is wrong with it. */
static int is_first_rank(void)
{
    static const char *const names[] = {"HX_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (int i = 0; i < 4; i++)
        if (getenv(names[i]))
            return strcmp(getenv(names[i]), "0") == 0;
    return 1;
}

/* ---- load */

/* HX_SECRET as hx_env_load found it in the environment. Kept until the process ends. */
static char *secret_kept;
static pthread_mutex_t secret_lock = PTHREAD_MUTEX_INITIALIZER;

/* Overwrites the bytes in place: setenv and unsetenv would move memory that other threads read. A program may have put a constant there
 * (putenv). A store into it would end the process, but the kernel only refuses to write: so the system call writes the first byte. (glibc's
 * function stores it itself from version 2.41 on.) */
static void secret_erase(char *value)
{
    const size_t bytes = strlen(value);

    if (bytes && syscall(SYS_getrandom, value, 1, 0) == 1)
        memset(value, SECRET_HIDDEN[0], bytes);
}

int hx_secret_is_hidden(const char *secret)
{
    return secret[0] && strspn(secret, SECRET_HIDDEN) == strlen(secret);
}

/* Take HX_SECRET out of the environment and overwrite it there. If it is overwritten already, it is the value taken before. text: the value
 * in the environment. Returns a copy to free; or text itself if there is no memory. */
static char *secret_take(char *text)
{
    char *copy = NULL;

    if (!text || !*text)
        return text;
    pthread_mutex_lock(&secret_lock);
    if (!hx_secret_is_hidden(text) && (copy = strdup(text))) {
        secret_erase(text);
        free(secret_kept);
        secret_kept = copy;
    }
    copy = secret_kept ? strdup(secret_kept) : NULL;
    pthread_mutex_unlock(&secret_lock);
    return copy ? copy : text;
}

/* If HX_TABLE is not set, use the site's table, if there is one. If it is "none", use no table. */
static const char *table_settle(const char *text, enum hx_env_source *source)
{
    if (text)
        return strcmp(text, "none") ? text : NULL;
    if (access(HX_SITE_TABLE, R_OK) != 0)
        return NULL;
    *source = HX_SOURCE_SITE;
    return HX_SITE_TABLE;
}

hx_status_t hx_env_load(struct hx_env *env, const char *const *overrides)
{
    hx_status_t failed = HX_SUCCESS;
    const char *value;

    memset(env, 0, sizeof *env);
    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        char *found = getenv(hx_env_rows[idx].name), *taken = idx == HX_ENV_IDX_secret ? secret_take(found) : found;
        const char *text = taken;
        enum hx_env_source source = HX_SOURCE_ENVIRONMENT;
        for (int i = 0; overrides && overrides[i]; i++)
            if (row_find(overrides[i], &value) == &hx_env_rows[idx]) {
                text = value;
                source = HX_SOURCE_OVERRIDE;
            }
        if (idx == HX_ENV_IDX_table)
            text = table_settle(text, &source);
        const hx_status_t status = hx_env_value_set(env, &hx_env_rows[idx], text, source);
        if (status != HX_SUCCESS) {
            failed = status;
            hx_env_value_set(env, &hx_env_rows[idx], NULL, HX_SOURCE_DEFAULT);
        }
        if (taken != found)
            free(taken);
    }
    hx_log_threshold = (enum hx_log_level)env->log;
    for (int i = 0; overrides && overrides[i]; i++) {
        if (strncmp(overrides[i], "HX_", 3) != 0 || !strchr(overrides[i], '='))
            failed = hx_fail(HX_ERR_ENV, "setting \"%s\" is not of the form HX_NAME=value", overrides[i]);
        else
            unknown_warn(overrides[i], "given settings");
    }
    for (char **entry = environ; entry && *entry && is_first_rank(); entry++)
        unknown_warn(*entry, "environment");
    return failed;
}

void hx_env_release(struct hx_env *env)
{
    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        char **member = (char **)((char *)env + hx_env_rows[idx].offset);
        if (hx_env_rows[idx].type == HX_TYPE_STRING || hx_env_rows[idx].type == HX_TYPE_NODES) {
            free(*member);
            *member = NULL;
        }
    }
}

hx_status_t hx_env_copy(struct hx_env *to, const struct hx_env *from)
{
    hx_status_t status = HX_SUCCESS;

    *to = *from;
    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        char **member = (char **)((char *)to + hx_env_rows[idx].offset);
        if (hx_env_rows[idx].type != HX_TYPE_STRING && hx_env_rows[idx].type != HX_TYPE_NODES)
            continue;
        if (*member && !(*member = strdup(*member)))
            status = hx_fail(HX_ERR_NOMEM, "no memory for the settings");
    }
    return status;
}

/* ---- rank 0's settings, to all */

struct output {
    char *text;
    size_t capacity, length; /* length may pass capacity, as with snprintf */
};

static void output_put(struct output *out, char c)
{
    if (out->length < out->capacity)
        out->text[out->length] = c;
    out->length++;
}

static void output_encode(struct output *out, const char *value)
{
    for (; *value; value++) {
        const unsigned char c = (unsigned char)*value;
        if ((c < 128 && isalnum(c)) || strchr("._:/,-", c)) {
            output_put(out, *value);
        } else {
            output_put(out, '%');
            output_put(out, "0123456789ABCDEF"[c >> 4]);
            output_put(out, "0123456789ABCDEF"[c & 15]);
        }
    }
}

size_t hx_env_pack_job(const struct hx_env *env, char *text, size_t capacity_bytes)
{
    struct output out = {text, capacity_bytes, 0};
    char value[HX_ENV_VALUE_BYTES];

    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        if (hx_env_rows[idx].scope != HX_SCOPE_JOB)
            continue;
        if (out.length > 0)
            output_put(&out, ' ');
        for (const char *c = hx_env_rows[idx].name; *c; c++)
            output_put(&out, *c);
        output_put(&out, '=');
        output_encode(&out, hx_env_value_format(env, &hx_env_rows[idx], value));
    }
    if (capacity_bytes > 0)
        text[out.length < capacity_bytes ? out.length : capacity_bytes - 1] = '\0';
    return out.length;
}

/* Decode in place; 0, or -1 for a broken escape. */
static int percent_decode(char *text)
{
    char *to = text;

    for (; *text; text++, to++) {
        *to = *text;
        if (*text != '%')
            continue;
        const char digits[] = {text[1], text[1] ? text[2] : '\0', '\0'};
        if (strspn(digits, "0123456789ABCDEF") != 2 || !(*to = (char)strtol(digits, NULL, 16)))
            return -1;
        text += 2;
    }
    *to = '\0';
    return 0;
}

/* One word of the packed text, which is decoded in place (names hold no escapes, so value stays where it is). */
static hx_status_t job_apply(struct hx_env *env, char *word, unsigned char seen[HX_ENV_COUNT])
{
    char text[HX_ENV_VALUE_BYTES];
    const char *value = NULL;
    const struct hx_env_row *row = row_find(word, &value);

    if (!row || row->scope != HX_SCOPE_JOB || percent_decode(word) < 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "rank 0 sent a setting that version %s cannot read: \"%s\"", hx_version(),
                       word);
    seen[row - hx_env_rows] = 1;
    const char *own = hx_env_value_format(env, row, text);
    if (strcmp(own, value) == 0)
        return HX_SUCCESS;
    if (env->source[row - hx_env_rows] != HX_SOURCE_DEFAULT && env->source[row - hx_env_rows] != HX_SOURCE_SITE)
        hx_warn("%s is \"%s\" on this rank, but the job uses rank 0's value \"%s\"", row->name, own, value);
    const hx_status_t status = hx_env_value_set(env, row, value, HX_SOURCE_JOB);
    env->source[row - hx_env_rows] = HX_SOURCE_JOB; /* also where rank 0 has none */
    return status;
}

hx_status_t hx_env_unpack_job(struct hx_env *env, const char *text)
{
    unsigned char seen[HX_ENV_COUNT] = {0};
    hx_status_t status = HX_SUCCESS;
    char *rest, *copy = strdup(text);

    if (!copy)
        return hx_fail(HX_ERR_NOMEM, "no memory for rank 0's settings of %zu bytes", strlen(text));
    for (char *word = strtok_r(copy, " ", &rest); word && status == HX_SUCCESS; word = strtok_r(NULL, " ", &rest))
        status = job_apply(env, word, seen);
    free(copy);
    for (int idx = 0; idx < HX_ENV_COUNT && status == HX_SUCCESS; idx++)
        if (hx_env_rows[idx].scope == HX_SCOPE_JOB && !seen[idx])
            status = hx_fail(HX_ERR_BOOTSTRAP, "rank 0 sent no %s, which version %s needs", hx_env_rows[idx].name,
                             hx_version());
    return status;
}

const char *hx_env_launcher(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

char *hx_env_lend(const char *name, const char *value)
{
    static char *mine; /* emptied by hx_env_take_back: setenv would not fill it again */
    char *there = getenv(name);

    if (!there && setenv(name, value, 0) == 0)
        return mine = getenv(name);
    if (!there || there != mine)
        return NULL;
    *mine = *value;
    return mine;
}

void hx_env_take_back(char *lent)
{
    if (lent)
        *lent = 0;
}

/* ---- listing */

/* The settings of a row and after that have one help: those of all collectives. */
static int alike(int idx)
{
    int n = 1;

    while (idx + n < HX_ENV_COUNT && strcmp(hx_env_rows[idx].help, hx_env_rows[idx + n].help) == 0)
        n++;
    return n;
}

void hx_env_list(FILE *out)
{
    char range[HX_ENV_RANGE_BYTES];

    fprintf(out, "| setting | type | default | range | meaning |\n|---|---|---|---|---|\n");
    for (int idx = 0, n; idx < HX_ENV_COUNT; idx += n) {
        const struct hx_env_row *row = &hx_env_rows[idx];
        n = alike(idx);
        fprintf(out, "| `%s`%s%s%s | %s | %s | %s | %s |\n", row->name, n > 1 ? " to `" : "", n > 1 ? row[n - 1].name : "", n > 1 ? "`" : "",
                hx_env_type_names[row->type], row->dflt ? row->dflt : "-", hx_env_range_format(row, range), row->help);
    }
}
