/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning tables as coll_tune reads and writes them: whatever goes wrong is told here. */
#include "tools/tune/coll_tune.h"
#include "runtime/base/error.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct hx_table *tune_table_read(const char *path)
{
    struct hx_table *table = NULL;

    if (hx_table_read(path, &table) == HX_SUCCESS)
        return table;
    fprintf(stderr, "coll_tune: %s\n", hx_last_detail());
    return NULL;
}

int tune_table_write(const struct hx_table *table, const char *path)
{
    char error[OPTION_TEXT_BYTES] = "";
    struct whole_file file;

    if (whole_file_open(&file, path)) {
        hx_table_print(file.out, table);
        /* on the disk before it has the name: what a long run found outlives a crash. Pipes cannot, and need not. */
        whole_file_flush(&file);
        if (!file.error && whole_file_is_regular(path) && ftell(file.out) > HX_TABLE_MAX_BYTES) {
            snprintf(error, sizeof(error), "--output=%.1000s: a table of %ld bytes; jobs read at most %d", path, ftell(file.out), HX_TABLE_MAX_BYTES);
            file.error = EFBIG;
        }
        if (!file.error && whole_file_is_regular(path) && fsync(fileno(file.out)) != 0)
            file.error = errno;
    }
    if (whole_file_end(&file, "output", path, error) == 0)
        return 0;
    fprintf(stderr, "coll_tune: %s\n", error);
    return -1;
}
