#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzz the reader of tuning tables, with clang's libFuzzer, address and undefined sanitizers; no part of make check, which replays the
# corpus (tests/hier/table/table_corpus) instead. Run it in a folder where make has built the library.
#   fuzz_table.sh [SECONDS [libFuzzer's options]]    default: 60
#   fuzz_table.sh minimise                           the smallest corpus that covers what has been found, to be committed
# What it finds is in ./build-fuzz: corpus/, crash-*.
set -euo pipefail
top=$(cd "$(dirname "$0")/../../.." && pwd)
clang=${FUZZ_CC:-clang}
mkdir -p build-fuzz/corpus

# What reads is compiled anew, for the fuzzer to see its branches; the rest is the library as it is.
libs=$(sed -n "s/^dependency_libs='\(.*\)'/\1/p" libhierax_internal.la)
# shellcheck disable=SC2086
$clang -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -D_GNU_SOURCE= -I"$top" -I"$top/runtime" \
    "$top"/tests/hier/table/fuzz_table.c "$top"/hier/table/*.c "$top/hier/table_choice.c" -o build-fuzz/fuzz_table .libs/libhierax_internal.a $libs -pthread

cd build-fuzz
if [ "${1:-60}" = minimise ]; then
    rm -rf smallest && mkdir smallest
    ./fuzz_table -merge=1 -max_len=4096 smallest "$top/tests/hier/table/table_corpus" corpus
    rm -rf "$top/tests/hier/table/table_corpus" && mv smallest "$top/tests/hier/table/table_corpus"
else
    seconds=${1:-60}
    ./fuzz_table -max_total_time="$seconds" -max_len=4096 -timeout=20 -close_fd_mask=2 -rss_limit_mb=1024 -dict="$top/tests/hier/table/table.dict" \
        -print_final_stats=1 "${@:2}" corpus "$top/tests/hier/table/table_corpus"
fi
