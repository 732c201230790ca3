/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear as a whole: see whole_file.h. */
#include "whole_file.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int whole_file_is_regular(const char *path)
{
    struct stat there;

    if (!strcmp(path, "-"))
        return 0;
    return lstat(path, &there) < 0 || S_ISREG(there.st_mode);
}

FILE *whole_file_open(struct whole_file *file, const char *path)
{
    file->out = NULL;
    file->beside[0] = '\0';
    if (!strcmp(path, "-"))
        return file->out = stdout;
    if (!whole_file_is_regular(path))
        return file->out = fopen(path, "we");
    if (snprintf(file->path, sizeof(file->path), "%s", path) >= (int)sizeof(file->path) ||
        snprintf(file->beside, sizeof(file->beside), "%s.new", path) >= (int)sizeof(file->beside)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return file->out = fopen(file->beside, "we");
}

int whole_file_close(struct whole_file *file)
{
    int good = file->out && fflush(file->out) == 0 && !ferror(file->out);

    if (file->out && file->out != stdout)
        good = fclose(file->out) == 0 && good;
    if (file->out && file->beside[0]) {
        good = good && rename(file->beside, file->path) == 0;
        if (!good)
            unlink(file->beside);
    }
    file->out = NULL;
    return good ? 0 : -1;
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
