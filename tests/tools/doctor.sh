#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_info --doctor finds each planted fault, names the ranks that have it, and finds no fail where there is none.
set -u
build=${top_builddir:-build}
info=$build/tools/coll_info
run=$build/tools/coll_run
plant=$build/tests/tools/plant
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset "${!HX_@}" "${!FI_@}" "${!RDMAV_@}"
export XDG_CACHE_HOME=/dev/null # nothing is written to the user's cache
failed=0

fault() {
    echo "FAILED: $*"
    failed=1
}

# says STATUS REGEX command...: exits with STATUS, within 30 s, and prints a line that matches
says() {
    local status=$1 regex=$2 got
    shift 2
    timeout 30 "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ $got = "$status" ] || fault "$*: status $got, not $status: $(grep -h ^fail "$tmp/out"; tail -n 3 "$tmp/err")"
    grep -Eq -- "$regex" "$tmp/out" || fault "$*: no line '$regex' but: $(grep -v '^ok' "$tmp/out")"
}

# job_says STATUS REGEX RANKS SETUP: a job in which each rank runs the shell command SETUP before
job_says() {
    # shellcheck disable=SC2016
    says "$1" "$2" "$run" -n "$3" -- bash -c "$4"'; exec "$0" --doctor' "$info"
}

# fixes REGEX: what was said last names a fix that matches
fixes() {
    grep -Eq "fix: .*$1" "$tmp/out" || fault "no fix '$1' but: $(grep fix: "$tmp/out")"
}

# ---- nothing is wrong
says 0 '^[0-9]+ ok, [0-9]+ warn, 0 fail; 1 rank on 1 host$' "$info" --doctor
[ "$(grep -c -E '^(ok|warn|fail) ' "$tmp/out")" = 25 ] || fault "not 25 checks: $(cat "$tmp/out")"
for check in settings libfabric provider congestion memlock 'huge pages' memfd cma shm 'cpu quota' pids clock start cores pinning 'busy core' numa \
    memory files environment alike firewall time links 'job settings'; do
    grep -Eq "^(ok|warn)  +$check " "$tmp/out" || fault "no check of $check"
done
says 0 '^[0-9]+ ok, [0-9]+ warn, 0 fail; 2 ranks on 1 host$' "$run" -n 2 -- "$info" --doctor
[ "$(grep -c '^ok  *memfd' "$tmp/out")" = 1 ] || fault "what is alike on all ranks is not told once"

# ---- what settings want of the job
says 0 ' 0 fail; 4 ranks' env HX_RING_ORDER=1,0 "$run" -n 4 --nodes 2 -- "$info" --doctor
says 1 '^fail +job settings +HX_RING_ORDER=1,0,2: ' env HX_RING_ORDER=1,0,2 "$run" -n 4 --nodes 2 -- "$info" --doctor
says 1 '^fail +job settings +HX_NODE_GROUPS=1,2: these groups have 3 nodes in all, but the job has 2' env HX_NODE_GROUPS=1,2 "$run" -n 4 --nodes 2 -- "$info" --doctor
job_says 1 '^fail +job settings +HX_NODES=7: the job has only 2 ranks' 2 'export HX_NODES=7'
says 1 '^fail +job settings .*not an algorithm for allreduce in this job' env HX_ALLREDUCE=nary "$run" -n 4 --nodes 2 -- "$info" --doctor
says 0 ' 0 fail; 4 ranks' env HX_ALLREDUCE=ring "$run" -n 4 --nodes 2 -- "$info" --doctor
says 1 "^fail +settings +HX_TRACE=$tmp/no/such: cannot write this rank's file: No such file" env HX_TRACE="$tmp/no/such" "$run" -n 2 -- "$info" --doctor
mkdir "$tmp/0"
says 1 "^fail +settings +HX_TRACE=$tmp/%r/such: .*No such file.*\(rank 1 on" env HX_TRACE="$tmp/%r/such" "$run" -n 2 -- "$info" --doctor
mkdir "$tmp/1"
says 0 ' 0 fail; 2 ranks' env HX_TRACE="$tmp/%r/such" "$run" -n 2 -- "$info" --doctor
# plans that need what only the job has
says 0 ' 0 fail; 4 ranks' env HX_INTRA_BCAST=single_copy HX_INTER_SCAN=exclusive_dissemination "$run" -n 4 --nodes 2 -- "$info" --doctor
says 1 '^fail +job settings .*HX_INTRA_BCAST=single_copy: on some node, ranks cannot read' env HX_INTRA_BCAST=single_copy HX_SINGLE_COPY=0 "$run" -n 2 -- "$info" --doctor
# rank 0's provider will hold on all ranks
# shellcheck disable=SC2016
job_says 0 '^warn +environment +HX_PROVIDER is ' 2 '[ "$HX_RANK" = 0 ] || export HX_PROVIDER=sockets'
says 1 '^fail +provider .*there is no usable interface' env HX_NIC=eth77 "$info" --doctor
fixes 'unset HX_NIC'

# ---- the planted faults
says 0 '^warn +memlock +64 KiB' "$plant" memlock=64 "$info" --doctor
fixes 'memlock unlimited'
if [ -d "$build/tests/efa_provider/.libs" ]; then # a provider that locks memory
    says 1 '^fail +memlock +4 MiB.* pin about 23 MiB' env FI_PROVIDER_PATH="$build/tests/efa_provider/.libs" HX_PROVIDER=efa \
        "$plant" memlock=4096 "$info" --doctor
fi
says 0 '^warn +cma +process_vm_readv .* is denied .*: this process has a seccomp filter' "$plant" refuse=process_vm_readv "$info" --doctor
fixes SYS_PTRACE
says 0 '^warn +cma +process_vm_readv .* is denied' sh -c 'trap "" CHLD; exec "$@"' - "$plant" refuse=process_vm_readv "$info" --doctor
says 0 '^warn +cma +process_vm_readv ended the process' "$plant" kill=process_vm_readv "$info" --doctor
fixes HX_SINGLE_COPY=0
says 1 '^fail +memfd +memfd_create is refused: Operation not permitted' "$plant" refuse=memfd_create "$info" --doctor
grep -q '^fail  start .*memfd_create is refused' "$tmp/out" || fault "the start is not tried: $(grep start "$tmp/out")"
says 1 "^fail +memfd +a signal ended the check: Bad system call" "$plant" kill=memfd_create "$info" --doctor
says 1 '^fail +pids +the check cannot run: fork: Operation not permitted' "$plant" refuse=clone "$info" --doctor
fixes 'TasksMax'
says 1 '^fail +provider +no usable libfabric provider.* FI_PROVIDER=nosuch$' env FI_PROVIDER=nosuch "$info" --doctor
fixes 'unset FI_PROVIDER'
says 1 '^fail +provider +HX_PROVIDER=nosuch: ' env HX_PROVIDER=nosuch "$info" --doctor
says 0 '^warn +provider +sockets .*slow' env HX_PROVIDER=sockets "$info" --doctor
says 1 '^fail +settings +HX_LANES=many: expected' env HX_LANES=many "$info" --doctor
says 0 '^warn +settings +unknown setting "HX_LNAES" \(did you mean HX_LANES\?\)$' env HX_LNAES=2 "$info" --doctor
says 0 '^warn +huge pages +FI_EFA_USE_HUGE_PAGE is set, but no huge page is free|^warn +huge pages +RDMAV_FORK_SAFE' \
    env FI_EFA_USE_HUGE_PAGE=1 RDMAV_FORK_SAFE=1 "$info" --doctor

cpus=$(nproc)
job_says 0 "^warn +cores +$((cpus + 1)) ranks on $cpus usable cores: .*\\(ranks 0-$cpus on " $((cpus + 1)) true
fixes 'fewer ranks per node'
if [ "$cpus" -gt 1 ]; then
    # shellcheck disable=SC2016
    job_says 0 '^warn +pinning +bound to the same core, [0-9]+, while other cores are free \(ranks 0-1 on ' 2 "taskset -pc $(taskset -cp $$ | sed 's/.*: //; s/[,-].*//') \$\$ >/dev/null"
    # the memory of both is on the only NUMA node of this machine; of one that hwloc invents, the second core is on another node
    # shellcheck disable=SC2016
    job_says 0 '^warn +numa +memory on NUMA node 0, core on NUMA node 1 \(rank 1 on ' 2 \
        'taskset -pc $HX_RANK $$ >/dev/null; export HWLOC_SYNTHETIC="pack:2 [numa] core:1 pu:1"'
    fixes 'mem-bind=local'
    says 0 '^warn +pinning +the ranks are not bound' "$run" -n 2 --bind none -- "$info" --doctor
fi
# shellcheck disable=SC2016
job_says 0 '^warn +environment +HX_LANES is 2 here, but unset on rank 0 \(ranks 1-2 on ' 3 '[ $HX_RANK = 0 ] || export HX_LANES=2'
# shellcheck disable=SC2016
job_says 1 '^fail +alike +provider "sockets" here, but "[a-z]*" on rank 0 \(rank 1 on ' 2 '[ $HX_RANK = 0 ] || export FI_PROVIDER=sockets'
grep -q '^warn  environment   FI_PROVIDER is sockets here, but unset on rank 0' "$tmp/out" || fault "FI_PROVIDER differs: $(cat "$tmp/out")"
# shellcheck disable=SC2016
says 1 '^fail +memfd .*refused.* \(rank 1 on ' "$run" -n 3 -- bash -c '[ $HX_RANK != 1 ] || exec "$1" refuse=memfd_create "$0" --doctor
    exec "$0" --doctor' "$info" "$plant"
says 0 '^warn +files +ulimit -n is 66, but one rank needs about 70 open files while the 3 ranks start' "$run" -n 3 -- "$plant" files=66 "$info" --doctor


# ---- what a mount namespace can show: a small /dev/shm, EFA devices in PCI
apart=(unshare -m)
[ "$(id -u)" = 0 ] || apart=(unshare -rm)
if "${apart[@]}" mount -t tmpfs none /mnt 2>/dev/null; then
    # shellcheck disable=SC2016
    says 0 '^warn +shm +16 MiB' "${apart[@]}" bash -c 'mount -t tmpfs -o size=16m none /dev/shm; exec "$0" --doctor' "$info"
    fixes 'shm-size'
    for name in bbr cubic; do
        echo $name >"$tmp/congestion"
        # shellcheck disable=SC2016
        says 0 "^($([ $name = bbr ] && echo 'warn +congestion +TCP uses bbr: ' || echo 'ok +congestion +cubic'))" "${apart[@]}" bash -c \
            'mount --bind "$1" /proc/sys/net/ipv4/tcp_congestion_control; exec "$0" --doctor' "$info" "$tmp/congestion"
        [ $name = cubic ] || fixes 'tcp_congestion_control=cubic'
    done
    mkdir -p "$tmp/pci/0000:00:1e.0"
    echo 0x1d0f >"$tmp/pci/0000:00:1e.0/vendor"
    echo 0xefa2 >"$tmp/pci/0000:00:1e.0/device"
    # shellcheck disable=SC2016
    says 1 '^fail +provider +.*Hierax uses .*, not the 1 EFA devices: there is no /dev/infiniband' \
        "${apart[@]}" bash -c 'mount --bind "$1" /sys/bus/pci/devices; mount -t tmpfs none /dev/infiniband 2>/dev/null &&
            umount /dev/infiniband; exec "$0" --doctor' "$info" "$tmp/pci"
    fixes 'modprobe efa'
    # shellcheck disable=SC2016
    says 0 '^warn +provider +.*Hierax uses .*, not the 1 EFA devices: FI_PROVIDER=sockets' "${apart[@]}" bash -c \
        'mount --bind "$1" /sys/bus/pci/devices; FI_PROVIDER=sockets exec "$0" --doctor' "$info" "$tmp/pci"
    # the library itself warns too, once on each of 2 nodes
    # shellcheck disable=SC2016
    "${apart[@]}" bash -c 'mount --bind "$1" /sys/bus/pci/devices; exec timeout 60 "$2" -n 4 --nodes 2 -- "$0"' "$info" "$tmp/pci" "$run" \
        >"$tmp/out" 2>"$tmp/err"
    [ "$(grep -c 'warn: this node uses libfabric provider .*, not its 1 device for provider efa: ' "$tmp/err")" = 2 ] ||
        fault "not one warning for each node with an unused EFA device: $(cat "$tmp/err")"
elif [ "${CI:-}" = true ]; then
    fault "no mount namespaces here"
fi

# ---- it ends whatever the others do, and where no launcher is to be reached
# shellcheck disable=SC2016
job_says 1 '^fail +launcher +' 2 'export HX_TIMEOUT=4; [ $HX_RANK = 0 ] || exec sleep 20'
says 1 '^fail +launcher +' env HX_ROOT=127.0.0.1:9 HX_RANK=0 HX_SIZE=2 HX_SECRET=0 HX_TIMEOUT=2 "$info" --doctor
grep -q '^ok    memfd' "$tmp/out" || fault "without a launcher nothing is told of the machine"

# ---- JSON, and bad input
if command -v python3 >/dev/null; then
    says 1 '"grade": ?"fail"' "$plant" refuse=memfd_create "$info" --doctor --json
    python3 - "$tmp/out" <<'PYTHON' || fault "the JSON is not as it must be"
import json, sys
report = json.load(open(sys.argv[1]))
rows = {row["check"]: row for row in report["checks"]}
assert report["ranks"] == report["hosts"] == 1 and report["fail"] == 2 and len(rows) == 25, report
assert all(set(row) == {"check", "grade", "ranks", "hosts", "found", "meaning", "remedy"} for row in report["checks"])
assert rows["memfd"]["grade"] == "fail" and "seccomp" in rows["memfd"]["remedy"] and rows["cma"]["remedy"] is None
PYTHON
fi
"$info" --docter >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'did you mean doctor?' "$tmp/out" || fault "--docter: $(cat "$tmp/out")"
"$info" --doctor allreduce >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'needs --algorithms' "$tmp/out" || fault "--doctor allreduce: $(cat "$tmp/out")"
if [ -w /dev/full ]; then
    "$info" --doctor >/dev/full 2>"$tmp/out"
    [ $? -eq 1 ] && grep -q 'standard output' "$tmp/out" || fault "a full disk is not told: $(cat "$tmp/out")"
fi
exit $failed
