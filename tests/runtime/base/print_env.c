/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the table of settings that README.md shows between its env markers; tests/readme.sh compares. */
#include "runtime/base/env.h"

int main(void)
{
    hx_env_list(stdout);
    return fflush(stdout) != 0;
}
