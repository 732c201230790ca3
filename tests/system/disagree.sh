#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks started with different settings, memory limits or visible topology. Either all choose the plans that rank 0 chooses, and results
# are right; or all fail at once, and every one names the rank and the value.
. "$(dirname "$0")/common.sh"
export HX_ENDPOINTS=0 # all ranks open endpoints at start, so the difference shows at start

# agree N NODES SCRIPT: SCRIPT, run by sh before each rank's program, makes this rank differ ($HX_RANK tells which it is)
agree() {
    local n=$1 nodes=$2 script=$3 options=()
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    # shellcheck disable=SC2016
    timeout 30 "$run" -n "$n" "${options[@]}" -- bash -c "$script"$'\n''exec "$0" choices' "$here/actor" >"$tmp/out" 2>"$tmp/err" ||
        { fail "$script: exit $?"; tail -n 5 "$tmp/err" >&2; return; }
    for ((r = 0; r < n; r++)); do
        grep "^$r " "$tmp/out" | cut -d' ' -f2- >"$tmp/choices.$r"
        cmp -s "$tmp/choices.0" "$tmp/choices.$r" ||
            { fail "$script: rank $r chooses otherwise"; diff "$tmp/choices.0" "$tmp/choices.$r" | head -n 6 >&2; }
    done
    [ -s "$tmp/choices.0" ] || fail "$script: rank 0 chose nothing"
}

# steered N NODES SCRIPT: the same where rank 0 differs, and in a way that matters: its view decides
steered() {
    agree "$@"
    ! cmp -s "$tmp/choices.0" "$tmp/plain" || fail "$3: rank 0's view changes nothing, so this test shows nothing"
}

# A machine with two cores and a third-level cache of 400 KB, to be seen by some ranks only.
sets='cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"'
{
    echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
    echo "<object type=\"Machine\" os_index=\"0\" gp_index=\"1\" allowed_cpuset=\"0x3\" allowed_nodeset=\"0x1\" $sets>"
    echo "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" local_memory=\"1000000000\" $sets/>"
    echo "<object type=\"L3Cache\" gp_index=\"3\" cache_size=\"400000\" depth=\"3\" cache_linesize=\"64\" cache_type=\"0\" $sets>"
    for p in 0 1; do
        sets="cpuset=\"0x$((p + 1))\" complete_cpuset=\"0x$((p + 1))\" nodeset=\"0x1\" complete_nodeset=\"0x1\""
        echo "<object type=\"Core\" os_index=\"$p\" gp_index=\"$((4 + 2 * p))\" $sets>"
        echo "<object type=\"PU\" os_index=\"$p\" gp_index=\"$((5 + 2 * p))\" $sets/></object>"
    done
    echo '</object></object></topology>'
} >"$tmp/machine.xml"

# limit CONTROLLER FILE VALUE: a control group of that name for one rank, in version 1 or 2; "$group" joins it. Fails where none can be made.
limit() {
    local dir
    for dir in "/sys/fs/cgroup/$1/hierax-test-$1-$$" "/sys/fs/cgroup/hierax-test-$1-$$"; do
        mkdir "$dir" 2>/dev/null || continue
        groups+=("$dir")
        if [ -e "$dir/$2" ] && echo "$3" 2>/dev/null >"$dir/$2" && [ -e "$dir/cgroup.procs" ]; then
            group="echo \$\$ >$dir/cgroup.procs"
            return 0
        fi
    done
    return 1
}
groups=()
trap '((${#groups[@]} == 0)) || rmdir "${groups[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT

other='[ $HX_RANK != 1 ] ||' first='[ $HX_RANK != 0 ] ||'
settings='HX_LANES=2 HX_SLICE=8K HX_CHUNK=4K HX_TIMEOUT=9'
for shape in "3 1" "4 2"; do
    agree $shape :
    cp "$tmp/choices.0" "$tmp/plain"
    # JOB settings: rank 0's hold for all, whoever has them
    for script in "HX_ALLREDUCE=ring HX_INTRA_ALLREDUCE=mesh HX_INTER_ALLREDUCE=rdh $settings" \
        "HX_PROVIDER=warp HX_NODES=3 HX_CHECK=1" "HX_ALLREDUCE=fastest HX_INTRA_ALLGATHER=tree"; do
        agree $shape "$other export $script"
        cmp -s "$tmp/choices.0" "$tmp/plain" || fail "rank 1's $script changes the choice"
        has "$tmp/err" "hierax[1] warn: ${script%%=*} is" "$script"
    done
    steered $shape "$first export HX_INTRA_ALLREDUCE=ring $settings"
    [ "$(grep -c 'timeout 9$' "$tmp/choices.1")" -gt 0 ] || fail "rank 0's HX_TIMEOUT does not hold for rank 1"
    agree $shape "$first export HX_CHECK=1"
    # LOCAL settings
    agree $shape "$other export HX_SPIN=0 HX_LOG=debug HX_EXPLAIN=1"
    agree $shape "$first export HX_SPIN=100000"
    # another view of the machine
    for view in "HWLOC_XMLFILE=$tmp/machine.xml" "HWLOC_SYNTHETIC='pack:1 l3:1(size=400000) core:3 pu:1'"; do
        agree $shape "$other export $view"
        cmp -s "$tmp/choices.0" "$tmp/plain" || fail "rank 1's $view changes the choice"
        steered $shape "$first export $view"
    done
    agree $shape "$other exec taskset -c 0 \"\$0\" choices"
    agree $shape "$first exec taskset -c 0 \"\$0\" choices"
    if limit cpu cpu.cfs_quota_us 50000 || limit cpu cpu.max "50000 100000"; then
        agree $shape "$other $group"
        agree $shape "$first $group"
    fi
    # less memory, but enough; sanitizers reserve terabytes of address space
    [ -n "${TEST_SANITIZER:-}" ] || agree $shape "$other ulimit -v 1500000"
    agree $shape "$other ulimit -l 0"
done

# refused N NODES SCRIPT RANK TEXT: no rank starts, none waits for HX_TIMEOUT, each names RANK and says TEXT
refused() {
    local n=$1 nodes=$2 script=$3 who=$4 text=$5 options=() code=0 start
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    start=$(now)
    # shellcheck disable=SC2016
    HX_TIMEOUT=40 timeout 30 "$run" -n "$n" "${options[@]}" -- bash -c "$script"$'\n''exec "$0" init' "$here/actor" >"$tmp/out" 2>"$tmp/err" ||
        code=$?
    [ $code = 0 ] && [ $(($(now) - start)) -lt 20000 ] || { fail "$n ranks, $script: exit $code after $(($(now) - start)) ms"; return; }
    [ "$(grep -c '^rank -1 status [1-9]' "$tmp/out")" = "$n" ] || { fail "$script: not all ranks are refused"; cat "$tmp/out" >&2; }
    [ "$(grep -c -- "$text" "$tmp/out")" = "$n" ] || { fail "$script: not every rank says \"$text\""; cat "$tmp/out" >&2; }
    [ "$(grep -c "rank $who" "$tmp/out")" -ge $((n - 1)) ] || { fail "$script: not every other rank names rank $who"; cat "$tmp/out" >&2; }
}
for shape in "3 1" "4 2"; do
    refused $shape "$other export HX_SLICE=much" 1 'HX_SLICE=much:'
    refused $shape "$first export HX_LANES=many" 0 'HX_LANES=many:'
    refused $shape "$other export HX_SIZE=7" 1 'HX_SIZE=7'
    refused $shape "$other export HX_RANK=0" 0 'HX_RANK=0 already'
    refused $shape "$other export HWLOC_COMPONENTS=stop" 1 'hwloc cannot load'
    if [ -z "${TEST_SANITIZER:-}" ]; then
        for who in 0 1; do
            refused $shape "[ \$HX_RANK != $who ] || ulimit -v 40000" $who 'of the shared segment for context 0\|cannot load libfabric'
        done
        refused $shape "$other ulimit -n 5" 1 'Too many open files'
    fi
done
# a guest that has been let in and cannot take what it gets: it comes after the host. Rank 0 is the leader of the node.
for who in 0 1; do
    [ -n "${TEST_SANITIZER:-}" ] ||
        refused 24 1 "[ \$HX_RANK != $who ] || { ulimit -n 16; exec chrt --idle 0 \"\$0\" init; }" $who 'open files, but this process'
done
# the host of the node, whichever rank that is: those that it cannot accept hear why
[ -n "${TEST_SANITIZER:-}" ] || refused 24 1 'ulimit -n 16' '[0-9]* cannot start' 'open files, but this process'
refused 4 2 "$other export FI_PROVIDER=udp" 1 'FI_PROVIDER\|rank 1 uses libfabric provider'
refused 4 2 "$other export FI_PROVIDER='tcp;ofi_rxm'" 1 'rank 1 uses libfabric provider tcp;ofi_rxm, rank 0 uses'
refused 4 2 "$first export FI_PROVIDER='tcp;ofi_rxm'" 0 'rank 0 uses tcp;ofi_rxm; set HX_PROVIDER'
refused 4 2 "export HX_PROVIDER=sockets; $other export FI_PROVIDER=^sockets" 1 'HX_PROVIDER=sockets: libfabric has no usable provider of this name; choose one of: '
refused 5 3 "[ \$HX_RANK != 4 ] || export HX_NIC=warp0" 4 'HX_NIC=warp0: there is no usable interface'

# a rank that the kernel kills for the memory it takes
if [ -z "${TEST_SANITIZER:-}" ] && { limit memory memory.limit_in_bytes 1M || limit memory memory.max 1M; }; then
    code=0
    timeout 30 "$run" -n 3 -- bash -c "$other $group"$'\n''exec "$0" choices' "$here/actor" >"$tmp/out" 2>"$tmp/err" || code=$?
    [ $code = 137 ] || fail "1 MB for rank 1: exit $code"
    grep -q "rank 1 (pid [0-9]*) was killed by signal 9" "$tmp/err" || { fail "1 MB for rank 1: not named"; cat "$tmp/err" >&2; }
fi
finish
