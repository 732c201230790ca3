/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear as a whole, and standard output: see whole_file.h. */
#include "tools/common/whole_file.h"
#include "tools/common/screen.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* By "-", or as /dev/stdout where that leads to a file: what goes there otherwise must not be lost. */
static int is_standard_output(const char *path)
{
    struct stat there, out;

    return !strcmp(path, "-") || (stat(path, &there) == 0 && fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(there.st_mode) &&
                                  there.st_dev == out.st_dev && there.st_ino == out.st_ino);
}

int whole_file_is_regular(const char *path)
{
    struct stat there;

    if (is_standard_output(path))
        return 0;
    if (lstat(path, &there) < 0)
        return 1;
    return S_ISREG(there.st_mode) || (S_ISLNK(there.st_mode) && stat(path, &there) == 0 && S_ISREG(there.st_mode));
}

/* The name of the file itself, whatever links lead to it. */
static int name_find(struct whole_file *file, const char *path)
{
    char *found = realpath(path, NULL);
    int fits = snprintf(file->path, sizeof(file->path), "%s", found ? found : path) < (int)sizeof(file->path);

    free(found);
    return fits ? 0 : ENAMETOOLONG;
}

/* A file of this writer alone: others may write the same one now, on other hosts too. */
static FILE *beside_open(struct whole_file *file)
{
    for (long n = getpid(), end = n + 1000; n < end; n++) {
        if (snprintf(file->beside, sizeof(file->beside), "%s.%ld.new", file->path, n) >= (int)sizeof(file->beside)) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        FILE *out = fopen(file->beside, "wxe");
        if (out || errno != EEXIST)
            return out;
    }
    return NULL;
}

FILE *whole_file_open(struct whole_file *file, const char *path)
{
    struct stat there;

    *file = (struct whole_file){.out = NULL};
    if (is_standard_output(path)) {
        screen_leave();
        return file->out = stdout;
    }
    int regular = whole_file_is_regular(path);
    if (regular && (file->error = name_find(file, path)) != 0) {
        errno = file->error;
        return NULL;
    }
    if (!(file->out = regular ? beside_open(file) : fopen(path, "we")))
        file->error = errno;
    else if (file->beside[0] && stat(file->path, &there) == 0)
        fchmod(fileno(file->out), there.st_mode & 07777);
    return file->out;
}

/* *error: the first one, an errno. Data that could not be flushed is gone: the next flush may succeed. */
static void stream_flush(FILE *out, int *error)
{
    errno = 0;
    if ((fflush(out) != 0 || ferror(out)) && !*error)
        *error = errno ? errno : EIO;
}

void whole_file_write(struct whole_file *file, const char *text, size_t bytes)
{
    if (fwrite(text, 1, bytes, file->out) != bytes && !file->error)
        file->error = errno;
}

void whole_file_flush(struct whole_file *file)
{
    stream_flush(file->out, &file->error);
}

int whole_file_end(struct whole_file *file, const char *option, const char *path, char error[OPTION_TEXT_BYTES])
{
    if (file->out)
        whole_file_flush(file);
    if (file->out && file->out != stdout && fclose(file->out) != 0 && !file->error)
        file->error = errno;
    if (file->out && file->beside[0]) {
        if (!file->error && rename(file->beside, file->path) != 0)
            file->error = errno;
        if (file->error)
            unlink(file->beside);
    }
    file->out = NULL;
    if (file->error && !error[0])
        snprintf(error, OPTION_TEXT_BYTES, "--%s=%.1000s: %s", option, path, strerror(file->error));
    return file->error ? -1 : 0;
}

static int output_error;

void standard_output_write(const char *text, size_t bytes)
{
    screen_leave();
    if (fwrite(text, 1, bytes, stdout) != bytes && !output_error)
        output_error = errno;
}

void standard_output_flush(void)
{
    stream_flush(stdout, &output_error);
}

int standard_output_check(const char *tool)
{
    standard_output_flush();
    if (output_error && output_error != EPIPE)
        fprintf(stderr, "%s: standard output: %s\n", tool, strerror(output_error));
    return output_error ? -1 : 0;
}

/* The file's own name, or that which it will have. 0, or -1. */
static int name_resolve(const char *path, char name[2 * PATH_MAX])
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    char folder[PATH_MAX];

    if (realpath(path, name))
        return 0;
    if (snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(last - path) : 1, slash ? path : ".") >= (int)sizeof(folder) ||
        !realpath(folder, name))
        return -1;
    snprintf(name + strlen(name), PATH_MAX, "/%s", last);
    return 0;
}

int whole_file_is_same(const char *a, const char *b)
{
    char first[2 * PATH_MAX], second[2 * PATH_MAX];

    return strcmp(a, "-") && strcmp(b, "-") && name_resolve(a, first) == 0 && name_resolve(b, second) == 0 &&
           !strcmp(first, second) && whole_file_is_regular(first);
}

int whole_file_check(const char *option, const char *path, char error[OPTION_TEXT_BYTES])
{
    struct stat there;
    struct whole_file file;

    if (!strcmp(path, "-"))
        return 0;
    errno = !path[0] ? ENOENT : EISDIR;
    if (path[0] && (stat(path, &there) < 0 || !S_ISDIR(there.st_mode))) {
        if (!whole_file_is_regular(path)) {
            if (access(path, W_OK) == 0)
                return 0;
        } else if (whole_file_open(&file, path)) {
            fclose(file.out);
            unlink(file.beside);
            return 0;
        }
    }
    snprintf(error, OPTION_TEXT_BYTES, "--%s=%.1000s: cannot write: %s", option, path, strerror(errno));
    return -1;
}
