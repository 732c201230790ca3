/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The constants of a node (constant.def), and the file that keeps them from one job to the next:
 *
 *   hierax_constants 1
 *   machine AMD EPYC; 2 ranks, 1000 per 1000 cores
 *   hand_off_ns 184
 *   ...
 *   end
 *
 * All values are integers, which every language writes in the same way. A file that is not exactly so is not used.
 */
#pragma once

#include "runtime/base/error.h"
#include <stddef.h>
#include <stdint.h>

#define HX_CONSTANTS_VERSION 1
#define HX_CONSTANTS_MOST 1000000000  /* of a value */
#define HX_CONSTANTS_FILE_BYTES 4096  /* at most */
#define HX_CONSTANTS_MACHINE_BYTES 192

enum hx_constants_source { HX_CONSTANTS_BUILT_IN, HX_CONSTANTS_MEASURED, HX_CONSTANTS_FILE };
extern const char *const hx_constants_source_names[];

struct hx_constants {
    int32_t source; /* enum hx_constants_source; HX_CONSTANTS_BUILT_IN: no value is known */
#define HX_CONSTANT(member, about) int32_t member;
#include "runtime/base/constant.def"
    uint64_t hash; /* of the text of the file */
};

struct hx_constant_row {
    const char *name;
    size_t offset; /* of an int32_t in struct hx_constants */
    const char *about;
};
extern const struct hx_constant_row hx_constant_rows[]; /* the last has no name */
int32_t hx_constant_value(const struct hx_constants *constants, const struct hx_constant_row *row);

/* Write the text of the file. Returns its length; sets constants->hash. machine: processor and placement, without newline. */
int hx_constants_format(struct hx_constants *constants, const char *machine, char text[HX_CONSTANTS_FILE_BYTES]);
/* The opposite. path: for messages. HX_ERR_ENV with "path:line: reason" in the detail, which is not logged. */
hx_status_t hx_constants_parse(const char *path, const char *text, size_t bytes, struct hx_constants *constants,
                               char machine[HX_CONSTANTS_MACHINE_BYTES]);

/* Read a file. HX_ERR_STATE: there is none. HX_ERR_ENV: it cannot be read, or is not such a file; the detail says why, and is not logged. */
hx_status_t hx_constants_read(const char *path, struct hx_constants *constants, char machine[HX_CONSTANTS_MACHINE_BYTES]);
/* Replace the file, at once: a reader finds the old or the new one. Makes its folder, and the one around that, if they are missing.
 * Returns 0, or -1 with errno. */
int hx_constants_write(const char *path, const char *text);
/* 64 bits of a text. */
uint64_t hx_constants_hash(const char *text);
