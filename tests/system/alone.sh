# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Ranks of tests/system/messages, or of $alone_program, without a launcher, which would end them all when one dies.
port=$((20000 + $$ % 10000))

# alone N NODES MODE...: run them to their end; what they print is in $tmp/out and $tmp/err
alone() {
    local r
    : >"$tmp/out" >"$tmp/err"
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    (
        for ((r = 0; r < $1; r++)); do
            HX_NODES="$2" HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE="$1" HX_SECRET=s FI_LOG_LEVEL=none \
                timeout -s KILL 90 "$here/${alone_program:-messages}" "${@:3}" >>"$tmp/out" 2>>"$tmp/err" &
        done
        wait
    ) 2>/dev/null # the shell tells which of them was killed
    port=$((port + 1))
}
