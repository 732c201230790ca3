/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings. env.def is the only list: it makes this struct, the parser, coll_info's listing and the manual's table. */
#ifndef HX_ENV_H
#define HX_ENV_H
#include "hierax.h"
#include <stdint.h>
#include <stdio.h>

enum hx_env_scope { HX_SCOPE_LOCAL, HX_SCOPE_JOB }; /* JOB: rank 0's value holds on all ranks */

/* One member per row of env.def, named by its lower-case name: HX_TIMEOUT -> .timeout. Types in env.def:
 * STRING (const char *, NULL when unset), INT (int64_t with a range), SIZE (int64_t bytes, suffixes K M G),
 * BOOL (int), CHOICE (int index into the row's choices), SECONDS (double). */
struct hx_env {
#define HX_ENV_STRING(name, member, scope, dflt, help) const char *member;
#define HX_ENV_INT(name, member, scope, dflt, low, high, help) int64_t member;
#define HX_ENV_SIZE(name, member, scope, dflt, low, high, help) int64_t member;
#define HX_ENV_BOOL(name, member, scope, dflt, help) int member;
#define HX_ENV_CHOICE(name, member, scope, dflt, choices, help) int member;
#define HX_ENV_SECONDS(name, member, scope, dflt, low, high, help) double member;
#include "env.def"
};

/* Parse overrides (NULL-terminated "HX_NAME=value", may be NULL) and then the process environment into *env. A bad value is
 * HX_ERR_ENV whose detail names the variable, the value and the range or choices; an unknown HX_* name only warns, with
 * the nearest known name. Strings live until hx_env_release. */
hx_status_t hx_env_load(struct hx_env *env, const char *const *overrides);
void hx_env_release(struct hx_env *env);

/* All JOB settings as one line of text "HX_A=x HX_B=y" (values percent-encoded), and back: rank 0 packs, others unpack
 * over their own values. pack returns the length in bytes, as snprintf does. */
size_t hx_env_pack_job(const struct hx_env *env, char *text, size_t capacity_bytes);
hx_status_t hx_env_unpack_job(struct hx_env *env, const char *text);

/* Write one row per setting: name, value in force, default, source, range or choices, help. markdown != 0: README's table
 * (name, type, default, range, help). */
void hx_env_list(const struct hx_env *env, FILE *out, int markdown);

#endif
