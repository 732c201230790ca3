/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds the fuzzer's function the files that fuzzing has found, each of which once took another path through the reader. */
#include "tests/hier/table/fuzz_table.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int feed(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *in = fopen(path, "rb");
    size_t n = in ? fread(bytes, 1, sizeof(bytes), in) : 0;

    if (in)
        fclose(in);
    else
        perror(path);
    if (in)
        LLVMFuzzerTestOneInput(bytes, n);
    return in != NULL;
}

int main(void)
{
    const char *top = getenv("top_srcdir");
    char folder[4096], path[8192];
    int fed = 0, good = 1;

    snprintf(folder, sizeof(folder), "%s/tests/hier/table/table_corpus", top ? top : ".");
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
        good &= feed(path);
        fed++;
    }
    if (dir)
        closedir(dir);
    printf("%d files of %s\n", fed, folder);
    return fed > 20 && good ? 0 : 1;
}
