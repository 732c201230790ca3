#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax for aarch64: cross-built, then its kernels, its waiting, its transport and whole jobs under emulation. That shows the other
# half of every #if; not what a weaker order of memory accesses would break, for the emulator keeps this machine's order.
#   tests/debian.sh bookworm DIR tests/arm.sh    in a Debian of its own: it adds an architecture
set -euo pipefail

host=aarch64-linux-gnu
run=qemu-aarch64-static
export DEBIAN_FRONTEND=noninteractive PKG_CONFIG_LIBDIR=/usr/lib/$host/pkgconfig IPATH_NO_BACKTRACE=1

dpkg --add-architecture arm64
apt-get -qq update
apt-get -qq install -y --no-install-recommends autoconf automake libtool make pkg-config procps crossbuild-essential-arm64 \
    qemu-user-static libfabric-dev:arm64 libhwloc-dev:arm64 libibverbs-dev:arm64 libjson-c-dev:arm64 libsodium-dev:arm64 libxxhash-dev:arm64 libcmocka-dev:arm64 >/dev/null

[ -e configure ] || ./autogen.sh
mkdir -p build-arm && cd build-arm
../configure --host=$host --disable-shared --enable-werror # no shared library: no scripts around the programs
tests="tests/runtime/base/test_reduce tests/runtime/base/test_memcpy tests/runtime/base/test_stream tests/runtime/engine/test_wait tests/topo/test_place
    tests/inter/fabric/test_endpoint tests/hier/table/test_table"
# shellcheck disable=SC2086
make -j"$(nproc)" all $tests tests/system/comms

passed=0
failed=0
try() { # command...
    echo "try: $*"
    if srcdir=.. top_srcdir=.. timeout 900 "$run" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
for test in $tests; do try "$test"; done
try tools/coll_run -n 4 --nodes 2 -- $run tools/coll_bench allreduce reduce_scatter_block allgather alltoall --max 256K --factor 16 \
    --repetitions 5 --check
try tools/coll_run -n 4 -- $run tests/system/comms 1 1500
try tools/coll_run -n 6 --nodes 3,1,2 -- $run tests/system/comms 2 800
echo "$passed passed, $failed failed"
[ $failed = 0 ]
