#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of one rank, of all ranks, of coll_run, in the middle of all-reduces: nothing is left, and coll_run names rank and signal.
# Without a launcher that ends the others: these are told who has died.
. "$(dirname "$0")/common.sh"

# Jobs of others may be starting or ending on this machine: what they have is gone soon, and what was there before does not count.
files() { find /dev/shm /tmp -maxdepth 1 -iname '*hierax*' 2>/dev/null | sort; }
traces() { comm -13 "$tmp/before" <(files); }
sockets() { grep -o '@hierax-.*' /proc/net/unix; }
files >"$tmp/before"

# start N NODES: a job under way; its launcher is $launcher, its ranks are $pids
start() {
    local options=()
    [ "$2" = 1 ] || options=(--nodes "$2")
    rm -f "$tmp/out" # the job's shell may be slow to empty it
    "$run" -n "$1" "${options[@]}" -- "$here/actor" loop >"$tmp/out" 2>"$tmp/err" &
    launcher=$!
    await_file "$tmp/out" "$1"
    mapfile -t pids < <(sort -k2n "$tmp/out" | sed 's/.*pid //')
}

# gone WHAT: launcher and ranks have ended, no socket of Hierax and no file is left. Leaves the launcher's exit status in $status.
gone() {
    local pid i
    ended $launcher 10 || { fail "$1: coll_run still runs after 10 s"; kill -9 $launcher; }
    wait $launcher
    status=$?
    for pid in "${pids[@]}"; do
        ended "$pid" 5 || { fail "$1: rank with pid $pid still runs"; kill -9 "$pid"; }
    done
    for ((i = 0; i < 400; i++)); do
        [ -n "$(traces)" ] || sockets >/dev/null || return 0
        sleep 0.05
    done
    fail "$1: left $(traces) $(sockets)"
}

for shape in 3:1 4:2; do
    n=${shape%:*} nodes=${shape#*:}
    for ((r = 0; r < n; r++)); do
        start "$n" "$nodes"
        kill -9 "${pids[r]}"
        gone "-n $n --nodes $nodes, rank $r killed"
        [ $status = 137 ] || fail "-n $n --nodes $nodes, rank $r killed: coll_run's exit status is $status, expected 137"
        has "$tmp/err" "rank $r (pid ${pids[r]}) was killed by signal 9 (Killed)" "rank $r killed"
    done
    start "$n" "$nodes"
    kill -9 "${pids[@]}"
    gone "-n $n --nodes $nodes, all ranks killed"
    has "$tmp/err" "was killed by signal 9 (Killed)" "all ranks killed"
    start "$n" "$nodes"
    kill -9 $launcher
    gone "-n $n --nodes $nodes, coll_run killed" 2>"$tmp/gone"
    grep -v Killed "$tmp/gone" >&2
done

# Ranks without a launcher that would end them all. The others get HX_ERR_PEER_DEAD soon, wherever they are and whomever they wait for.
cases=()
port=$((20000 + $$ % 10000))

# dies N NODES RANK HOW [SETTING...]: begin such a job
dies() {
    local n=$1 out=$tmp/dies.${#cases[@]} r
    cases+=("$*")
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    for ((r = 0; r < n; r++)); do
        env "${@:5}" HX_NODES="$2" HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE="$n" HX_SECRET=s HX_TIMEOUT=60 FI_LOG_LEVEL=none \
            timeout -s KILL 90 "$here/actor" dies "$3" "$4" >>"$out" 2>>"$out.err" &
    done
    port=$((port + 1))
}

# died FILE N NODES RANK HOW ...: how it has ended
died() {
    local out=$1 n=$2 dead=$4 what="dies ${*:2}" line ms
    [ "$(grep -c "^rank [0-9]* status 8 .*rank $dead has died" "$out")" = $((n - 1)) ] ||
        { fail "$what: not all others got HX_ERR_PEER_DEAD that names it"; cat "$out" "$out.err" >&2; }
    while read -r line; do
        ms=$(sed 's/.* after \([0-9]*\) ms.*/\1/' <<<"$line")
        [ "$ms" -ge 300 ] && [ "$ms" -le 8000 ] || fail "$what: $line"
    done < <(grep 'status 8 after' "$out")
    [ "$(grep -c "^rank [0-9]* others status 0, $((n - 1)) of them" "$out")" = $((n - 1)) ] ||
        { fail "$what: a communicator without it does not live on"; cat "$out" "$out.err" >&2; }
    [ "$(grep -c "^rank [0-9]* group status 0" "$out")" = $((n - 1)) ] ||
        { fail "$what: the others cannot create a group"; cat "$out" "$out.err" >&2; }
    [ "$(grep -c 'finalize status' "$out")" = $((n - 1)) ] || fail "$what: hx_finalize did not return everywhere"
}

refuse=()
if [ -z "${TEST_SANITIZER:-}" ] && ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$tmp/refuse.so" "$(dirname "$0")/refuse.c"; then
    refuse=("LD_PRELOAD=$tmp/refuse.so")
fi
efa=("FI_PROVIDER_PATH=$(realpath "$top_builddir")/tests/efa_provider/.libs" HX_PROVIDER=efa)
for how in blocks waits tests; do
    dies 3 1 1 $how
    dies 4 2 0 $how
done
dies 2 1 0 blocks
dies 20 1 3 blocks
dies 6 6 2 tests HX_ALLREDUCE=ring # of which two wait for the dead, the others for each other
dies 4 4 3 blocks HX_ALLREDUCE=ring "HX_PROVIDER=tcp;ofi_rxm"
dies 5 3,1,1 1 waits "${efa[@]}"
dies 4 4 0 blocks HX_ALLREDUCE=ring "${efa[@]}"
wait
for i in "${!cases[@]}"; do
    read -ra case <<<"${cases[i]}"
    died "$tmp/dies.$i" "${case[@]}"
done

# hx_abort ends one rank with its status. The others get its text within a second.
# aborts N NODES RANK HOW CODE TEXT [SETTING...]: begin such a job, without a launcher that ends the others
aborts() {
    local n=$1 out=$tmp/aborts.${#aborted[@]} r
    aborted+=("$n $3 $5 $2,$4")
    texts+=("$6")
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    for ((r = 0; r < n; r++)); do
        { env "${@:7}" HX_NODES="$2" HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE="$n" HX_SECRET=s HX_TIMEOUT=60 FI_LOG_LEVEL=none \
            timeout -s KILL 60 "$here/actor" aborts "$3" "$4" "$5" "$6" >>"$out" 2>>"$out.err"
            echo "rank $r exits $?" >>"$out"; } &
    done
    port=$((port + 1))
}

# abort_ended FILE TEXT N RANK CODE WHAT: how it has ended
abort_ended() {
    local out=$1 text=${2:+: ${2:0:379}} n=$3 rank=$4 code=$(($5 % 256)) others=$(($3 - 1)) begin ms slower=1
    [ -z "${TEST_SANITIZER:-}" ] || slower=5
    [[ $6 != *late ]] || others=$((n - 2))
    grep -q "^rank $rank exits $((code ? code : 1))$" "$out" || fail "hx_abort, $6: the rank does not end with its status"
    [ "$(grep -c "^rank [0-9]* status 8 at .*: rank $rank has called hx_abort$text$" "$out")" = $others ] ||
        fail "hx_abort, $6: not all others get the text"
    begin=$(sed -n 's/.* aborts at \([0-9]*\) ms/\1/p' "$out" | sort -n | head -n 1)
    while read -r ms; do
        [ $((ms - begin)) -le $((1000 * slower)) ] || fail "hx_abort, $6: a rank gets it only after $((ms - begin)) ms"
    done < <(sed -n 's/^rank [0-9]* status .* at \([0-9]*\) ms: .*/\1/p' "$out")
    [ $failures = 0 ] || cat "$out" "$out.err" >&2
}
aborted=() texts=()
long=$(printf 'x%.0s' {1..1000})
aborts 3 1 1 blocks 7 'no input'
aborts 4 2 0 waits 200 ''
aborts 4 2 3 tests 256 'two words'
aborts 6 6 2 first 3 "$long"
aborts 3 1 0 first 3 'early'
aborts 4 2 1 threads 9 'of a thread'
aborts 4 2,1,1 2 folds 10 'in an operation'
aborts 5 3,1,1 1 late 11 'after a death'
aborts 4 2 1 failed 12 'after an error'
aborts 5 3,1,1 1 waits 13 'on a device' "${efa[@]}"
wait
for i in "${!aborted[@]}"; do
    # shellcheck disable=SC2086
    abort_ended "$tmp/aborts.$i" "${texts[i]}" ${aborted[i]}
done
for nodes in 1 2; do
    timeout 60 "$run" -n 4 --nodes $nodes -- "$here/actor" aborts 2 blocks 77 'the job' >"$tmp/out" 2>"$tmp/err"
    status=$?
    [ $status = 77 ] || { fail "hx_abort under coll_run, $nodes nodes: status $status"; cat "$tmp/err" >&2; }
    has "$tmp/err" "exited with status 77" "hx_abort under coll_run"
    has "$tmp/err" "hx_abort: the job; this process ends with status 77" "hx_abort under coll_run"
done

# Who ends because a rank has died is not named in its place.
timeout 30 "$run" -n 3 -- "$here/actor" outlived >"$tmp/outlived" 2>&1 || fail "outlived: exit $?"
[ "$(grep -c '^rank [02] status 8: .*rank 1 has died' "$tmp/outlived")" = 2 ] ||
    { fail "outlived: not both name rank 1"; cat "$tmp/outlived" >&2; }

# A crash is a crash, whoever has started the process: libfabric's libinfinipath would end it with status 1 and leave a *.btr file.
# crashes WHAT SIGNAL COMMAND...: a process under way that gets SIGNAL has died by it
crashes() {
    local signal=$2 pid status
    rm -f "$tmp/crash/out"
    (cd "$tmp/crash" && ulimit -c 0 && exec "${@:3}" >out 2>err) &
    await_file "$tmp/crash/out" 1
    pid=$(sed 's/.*pid //' "$tmp/crash/out")
    kill -s "$signal" "$pid"
    wait $! 2>/dev/null
    status=$?
    [ $status = $((128 + $(kill -l "$signal"))) ] || { fail "$1: SIG$signal: exit status $status"; cat "$tmp/crash/err" >&2; }
    [ -z "$(find "$tmp/crash" -name '*.btr')" ] || fail "$1: SIG$signal leaves a trace of libinfinipath's"
}
if [ -z "${TEST_SANITIZER:-}" ]; then # sanitizers tell of a crash themselves
    here=$(realpath "$here") run=$(realpath "$run")
    mkdir "$tmp/crash"
    unset IPATH_NO_BACKTRACE
    crashes "under coll_run" SEGV "$run" -n 1 -- "$here/actor" loop
    has "$tmp/crash/err" "was killed by signal 11 (Segmentation fault)" "under coll_run"
    crashes "under coll_run, without its variable" SEGV "$run" -n 1 -- env -u IPATH_NO_BACKTRACE "$here/actor" loop
    for signal in SEGV ABRT BUS ILL INT TERM; do # a shell makes what is in the background ignore SIGINT
        crashes "alone" $signal env --default-signal=INT "$here/actor" loop
    done
fi

# While the ranks of a node meet: the others do not wait for it until HX_TIMEOUT.
if [ ${#refuse[@]} != 0 ]; then
    for r in 0 1 2; do
        env "${refuse[@]}" DIE=1 HX_SINGLE_COPY=1 HX_ROOT=localhost:$port HX_RANK=$r HX_SIZE=3 HX_SECRET=s HX_TIMEOUT=60 \
            timeout -s KILL 20 "$here/actor" init >>"$tmp/meets" 2>>"$tmp/meets.err" &
    done
    wait
    [ "$(grep -c 'status 8: .*rank 1 has died' "$tmp/meets")" = 2 ] ||
        { fail "a rank that dies while its node meets: the others do not name it within 20 s"; cat "$tmp/meets" "$tmp/meets.err" >&2; }
fi
finish
