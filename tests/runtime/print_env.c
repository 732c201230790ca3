/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the table of settings that README.md shows between its env markers; tests/readme.sh compares. */
#include "runtime/env.h"
#include "runtime/error.h"
#include <string.h>

int main(int argc, char **argv)
{
    struct hx_env env;
    int markdown = argc < 2 || strcmp(argv[1], "text") != 0;
    if (hx_env_load(&env, NULL) != HX_SUCCESS) {
        fprintf(stderr, "print_env: %s\n", hx_last_detail());
        hx_env_release(&env);
        return 2;
    }
    hx_env_list(&env, stdout, markdown);
    hx_env_release(&env);
    return fflush(stdout) != 0;
}
