/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of the constants of a node: see constants.h. */
#include "runtime/base/constants.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define FIRST_LINE "hierax_constants " STRING(HX_CONSTANTS_VERSION)

const char *const hx_constants_source_names[] = {
    [HX_CONSTANTS_BUILT_IN] = "built in", [HX_CONSTANTS_MEASURED] = "measured", [HX_CONSTANTS_FILE] = "file"};

const struct hx_constant_row hx_constant_rows[] = {
#define HX_CONSTANT(member, about) {#member, offsetof(struct hx_constants, member), about},
#include "runtime/base/constant.def"
    {0}};

static int32_t *value_at(struct hx_constants *constants, const struct hx_constant_row *row)
{
    return (int32_t *)((char *)constants + row->offset);
}

int32_t hx_constant_value(const struct hx_constants *constants, const struct hx_constant_row *row)
{
    return *(const int32_t *)((const char *)constants + row->offset);
}

uint64_t hx_constants_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

int hx_constants_format(struct hx_constants *constants, const char *machine, char text[HX_CONSTANTS_FILE_BYTES])
{
    int n = snprintf(text, HX_CONSTANTS_FILE_BYTES, FIRST_LINE "\nmachine %.*s\n", HX_CONSTANTS_MACHINE_BYTES - 1, machine);

    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++)
        n += snprintf(text + n, (size_t)(HX_CONSTANTS_FILE_BYTES - n), "%s %d\n", row->name, hx_constant_value(constants, row));
    n += snprintf(text + n, (size_t)(HX_CONSTANTS_FILE_BYTES - n), "end\n");
    constants->hash = hx_constants_hash(text);
    return n;
}

/* ---- reading */

struct reader {
    const char *path;
    char *at; /* the next line */
    int line; /* that was read last */
};

static hx_status_t refuse(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static hx_status_t refuse(const struct reader *r, const char *format, ...)
{
    char text[HX_DETAIL_BYTES];
    va_list args;
    int n = snprintf(text, sizeof(text), "%.200s:%d: ", r->path, r->line);

    va_start(args, format);
    vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
    va_end(args);
    hx_recall(text);
    return HX_ERR_ENV;
}

/* Returns the rest of the next line after `name` and a space. NULL: that line is another one. */
static char *line_take(struct reader *r, const char *name)
{
    char *line = r->at, *end = strchr(line, '\n');
    size_t length = strlen(name);

    r->line++;
    if (!end)
        return NULL;
    *end = '\0';
    r->at = end + 1;
    if (strncmp(line, name, length) != 0 || line[length] != ' ')
        return NULL;
    return line + length + 1;
}

/* Digits only: no sign, no space. Returns -1 for others, and beyond the range. */
static int32_t value_parse(const char *text)
{
    int64_t value = 0;
    int n = 0;

    for (; text[n] >= '0' && text[n] <= '9' && n < 10; n++)
        value = 10 * value + (text[n] - '0');
    return n == 0 || text[n] || value > HX_CONSTANTS_MOST ? -1 : (int32_t)value;
}

static hx_status_t lines_parse(struct reader *r, struct hx_constants *constants, char machine[HX_CONSTANTS_MACHINE_BYTES])
{
    const char *text = line_take(r, "hierax_constants");

    if (!text)
        return refuse(r, "this is not a file of constants: it does not begin with \"" FIRST_LINE "\"");
    if (value_parse(text) != HX_CONSTANTS_VERSION)
        return refuse(r, "version %.20s: this Hierax reads version %d", text, HX_CONSTANTS_VERSION);
    if (!(text = line_take(r, "machine")) || strlen(text) >= HX_CONSTANTS_MACHINE_BYTES)
        return refuse(r, "expected \"machine\" and at most %d characters", HX_CONSTANTS_MACHINE_BYTES - 1);
    strcpy(machine, text);
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++) {
        int32_t value = (text = line_take(r, row->name)) ? value_parse(text) : -1;
        if (value < 0)
            return refuse(r, "expected \"%s\" and an integer from 0 to %d", row->name, HX_CONSTANTS_MOST);
        *value_at(constants, row) = value;
    }
    r->line++;
    return strcmp(r->at, "end\n") ? refuse(r, "expected \"end\" as the last line") : HX_SUCCESS;
}

hx_status_t hx_constants_parse(const char *path, const char *text, size_t bytes, struct hx_constants *constants,
                               char machine[HX_CONSTANTS_MACHINE_BYTES])
{
    char copy[HX_CONSTANTS_FILE_BYTES];
    struct reader r = {.path = path, .at = copy};
    struct hx_constants found = {.source = HX_CONSTANTS_FILE};
    hx_status_t status;

    if (bytes >= sizeof(copy) || memchr(text, 0, bytes)) {
        r.line = 1;
        return refuse(&r, bytes >= sizeof(copy) ? "longer than %d bytes" : "it has a byte 0 among its first %d bytes", HX_CONSTANTS_FILE_BYTES - 1);
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    found.hash = hx_constants_hash(copy);
    if ((status = lines_parse(&r, &found, machine)) == HX_SUCCESS)
        *constants = found;
    return status;
}

#define NOT_REGULAR (-1)

/* Returns 0, an errno, or NOT_REGULAR: a FIFO would be waited for. */
static int text_read(const char *path, char text[HX_CONSTANTS_FILE_BYTES], size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
    struct stat file;
    ssize_t got = 1;

    *bytes = 0;
    if (fd < 0)
        return errno;
    if (fstat(fd, &file) < 0)
        error = errno;
    else if (!S_ISREG(file.st_mode))
        error = NOT_REGULAR;
    for (; !error && got > 0 && *bytes < HX_CONSTANTS_FILE_BYTES; *bytes += got > 0 ? (size_t)got : 0)
        if ((got = read(fd, text + *bytes, HX_CONSTANTS_FILE_BYTES - *bytes)) < 0)
            error = errno;
    close(fd);
    return error;
}

hx_status_t hx_constants_read(const char *path, struct hx_constants *constants, char machine[HX_CONSTANTS_MACHINE_BYTES])
{
    char text[HX_CONSTANTS_FILE_BYTES], why[HX_DETAIL_BYTES];
    size_t bytes;
    int error = text_read(path, text, &bytes);

    if (error == ENOENT || error == ENOTDIR)
        return HX_ERR_STATE;
    if (error == 0)
        return hx_constants_parse(path, text, bytes, constants, machine);
    snprintf(why, sizeof(why), "%.200s: %s", path, error == NOT_REGULAR ? "not a regular file" : strerror(error));
    hx_recall(why);
    return HX_ERR_ENV;
}

/* ---- writing */

/* Make the folder of path, and the one around it. */
static void folders_make(const char *path)
{
    char folder[4096];
    char *slash[2];

    snprintf(folder, sizeof(folder), "%s", path);
    for (int i = 0; i < 2; i++) {
        if (!(slash[i] = strrchr(folder, '/')) || slash[i] == folder)
            return;
        *slash[i] = '\0';
    }
    mkdir(folder, 0700);
    *slash[1] = '/';
    mkdir(folder, 0700);
}

int hx_constants_write(const char *path, const char *text)
{
    const size_t bytes = strlen(text);
    char temporary[4096];
    int fd, error;

    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    folders_make(path);
    if ((fd = mkostemp(temporary, O_CLOEXEC)) < 0)
        return -1;
    error = write(fd, text, bytes) == (ssize_t)bytes ? 0 : errno ? errno : EIO;
    if (close(fd) < 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) < 0)
        error = errno;
    if (!error)
        return 0;
    unlink(temporary);
    errno = error;
    return -1;
}
