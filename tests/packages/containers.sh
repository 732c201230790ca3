#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In a container's file system, as root: ranks in one container, and each in a container of its own, with namespaces as Docker makes them:
# own mounts, pids, System V objects and host name, /dev/shm of 64 MB. Every job checks its results.
#   containers.sh PLANT    PLANT is tests/tools/plant.c, compiled
set -uo pipefail
plant=$1
tmp=$(mktemp -d)
passed=0
failed=0

cat >"$tmp/container" <<'TXT'
#!/bin/sh
# shellcheck disable=SC2086
exec unshare $NAMESPACES --mount --pid --ipc --uts --mount-proc --fork --kill-child sh -c \
    '{ [ "$SHM" = shared ] || mount -t tmpfs -o size=64m tmpfs /dev/shm; } && exec "$@"' sh "$@"
TXT
cat >"$tmp/users" <<'TXT'
#!/bin/sh
exec setpriv --reuid=$((1000 + HX_RANK)) --clear-groups "$@"
TXT
chmod 755 "$tmp" "$tmp/container" "$tmp/users"

# job WHAT SAYS command...: it succeeds, and its output has SAYS
# refused WHAT SAYS command...: it fails, and its output has SAYS
job() { tried 0 "$@"; }
refused() { tried 1 "$@"; }
tried() {
    local want=$1 what=$2 says=$3 status=0
    shift 3
    HX_LOG=info HX_TIMEOUT=60 timeout 120 "$@" >"$tmp/out" 2>&1 || status=$?
    if [ $((status != 0)) = "$want" ] && grep -qF -- "$says" "$tmp/out"; then
        passed=$((passed + 1))
        echo "PASS: $what: $says"
    else
        failed=$((failed + 1))
        echo "FAIL: $what: status $status, or no \"$says\" in:"
        cat "$tmp/out"
    fi
}

run=(coll_run -n 4 --)
bench=(coll_bench allreduce alltoall --check --max 4M --factor 64 --repetitions 3)
export NAMESPACES='' SHM=own
job "one container, /dev/shm of 64 MB" "4 ranks on 1 node" "$tmp/container" "${run[@]}" "${bench[@]}"
job "one container, no CMA" "no single copy: cannot read the memory of rank" "$plant" refuse=process_vm_readv "$tmp/container" "${run[@]}" "${bench[@]}"
job "a container for each rank" "4 ranks on 1 node" "${run[@]}" "$tmp/container" "${bench[@]}"
SHM=shared
job "a container for each rank, one /dev/shm" "it is in another pid namespace, for example in another container" "${run[@]}" "$tmp/container" "${bench[@]}"
SHM=own
NAMESPACES="--user --map-root-user"
job "a rootless container for each rank" "4 ranks on 1 node" "${run[@]}" "$tmp/container" "${bench[@]}"
NAMESPACES=--net
refused "a container for each rank, with a network of its own" "share the host's network, or set HX_ROOT" "${run[@]}" "$tmp/container" "${bench[@]}"
refused "another user for each rank" "start all ranks of a node as one user" "${run[@]}" "$tmp/users" "${bench[@]}"
rm -rf "$tmp"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
