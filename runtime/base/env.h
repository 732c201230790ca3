/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings. env.def is the only list: it makes this struct, the parser, coll_info's listing and the manual's table. */
#pragma once

#include "runtime/base/wire.h"

#include "runtime/hierax.h"
#include <stdint.h>
#include <stdio.h>

#define HX_SLICE_LEAST 512 /* bytes of the vector: shorter slices are mostly hand-overs */
#define HX_SLICE_MOST 1073741824
#define HX_CHUNK_LEAST 512 /* see inter/fabric/endpoint.c */
#define HX_RAILS_MAX 8     /* see inter/fabric/provider.h */

enum hx_env_scope { HX_SCOPE_LOCAL, HX_SCOPE_JOB }; /* JOB: rank 0's value holds on all ranks */

/* The source of a value. JOB: rank 0, whose value differs from this rank's own. SITE: the file that this build looks for exists. */
enum hx_env_source { HX_SOURCE_DEFAULT, HX_SOURCE_ENVIRONMENT, HX_SOURCE_OVERRIDE, HX_SOURCE_JOB, HX_SOURCE_SITE };

/* One index per row of env.def: HX_ENV_IDX_timeout ... */
enum {
#define HX_ENV_STRING(name, member, scope, dflt, help) HX_ENV_IDX_##member,
#define HX_ENV_INT(name, member, scope, dflt, low, high, help) HX_ENV_IDX_##member,
#define HX_ENV_SIZE(name, member, scope, dflt, low, high, help) HX_ENV_IDX_##member,
#define HX_ENV_BOOL(name, member, scope, dflt, help) HX_ENV_IDX_##member,
#define HX_ENV_CHOICE(name, member, scope, dflt, choices, help) HX_ENV_IDX_##member,
#define HX_ENV_NODES(name, member, scope, dflt, help) HX_ENV_IDX_##member,
#define HX_ENV_SECONDS(name, member, scope, dflt, low, high, help) HX_ENV_IDX_##member,
#include "runtime/base/env.def"
    HX_ENV_COUNT
};

/* One member per row of env.def, named by its lower-case name: HX_TIMEOUT -> .timeout. Types in env.def:
 * STRING (const char *, NULL when unset), INT (int64_t with a range), SIZE (int64_t bytes, suffixes K M G),
 * BOOL (int), CHOICE (int index into the row's choices), NODES (const char * for hx_shape_emulate, NULL when 0),
 * SECONDS (double). */
struct hx_env {
#define HX_ENV_STRING(name, member, scope, dflt, help) const char *member;
#define HX_ENV_INT(name, member, scope, dflt, low, high, help) int64_t member;
#define HX_ENV_SIZE(name, member, scope, dflt, low, high, help) int64_t member;
#define HX_ENV_BOOL(name, member, scope, dflt, help) int member;
#define HX_ENV_CHOICE(name, member, scope, dflt, choices, help) int member;
#define HX_ENV_NODES(name, member, scope, dflt, help) const char *member;
#define HX_ENV_SECONDS(name, member, scope, dflt, low, high, help) double member;
#include "runtime/base/env.def"
    unsigned char source[HX_ENV_COUNT]; /* enum hx_env_source of each */
};

/* Fill *env from overrides (NULL-terminated "HX_NAME=value", may be NULL), else the process environment, else the
 * defaults; an empty value means the default, but for HX_TABLE, whose default is the site's table if there is one. A
 * bad value is HX_ERR_ENV whose detail names the variable, the value and the range or choices; an unknown HX_* name
 * only warns, with the nearest known name. HX_SECRET is read once. This process keeps it, and overwrites its bytes in the environment with
 * asterisks, so that neither children nor /proc/PID/environ reveal it. Puts HX_LOG in force at once. Strings live until hx_env_release.
 * After an error too *env is complete, with the default in place of a bad value: a rank must meet the others to tell them. */
hx_status_t hx_env_load(struct hx_env *env, const char *const *overrides);
void hx_env_release(struct hx_env *env);
/* The same settings again, to be released by itself. Errors: HX_ERR_NOMEM, and then strings are missing. */
hx_status_t hx_env_copy(struct hx_env *to, const struct hx_env *from);

/* Is this value only asterisks? Then hx_env_load has overwritten HX_SECRET, in a parent of this process or in this process before exec. */
int hx_secret_is_hidden(const char *secret);

/* A variable of others (PMI_*, PMIX_*, SLURM_*, HOME, XDG_CACHE_HOME), or NULL when it is unset or empty. */
const char *hx_env_launcher(const char *name);

/* A variable that another library reads while it starts. hx_env_lend sets it, unless the environment has it. Returns what hx_env_take_back
 * makes empty, in place, because unsetenv moves memory that other threads read; NULL: it is not set. For one name and value only. Not by
 * several threads at once. */
char *hx_env_lend(const char *name, const char *value);
void hx_env_take_back(char *lent);

/* All JOB settings as one line of text "HX_A=x HX_B=y" (values percent-encoded), and back: rank 0 packs, others unpack
 * over their own values. pack returns the length in bytes, as snprintf does. Text that is broken or from a Hierax with
 * other settings is HX_ERR_BOOTSTRAP; a value that this rank's user set otherwise warns. */
size_t hx_env_pack_job(const struct hx_env *env, char *text, size_t capacity_bytes);
hx_status_t hx_env_unpack_job(struct hx_env *env, const char *text);

/* Write README's table: one row per setting. */
void hx_env_list(FILE *out);
