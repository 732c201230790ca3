#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_ADAPT: calls of every kind change over together to the faster side, results keep their bits, and reads that the kernel refuses fail no
# call. The side that shall be slow takes a second longer by the clock of HX_ADAPT, whatever the machine does.
. "$(dirname "$0")/common.sh"

"$run" -n 2 --env HX_INTRA_BCAST=single_copy -- "$here/adapted" none >"$tmp/out" 2>"$tmp/err" || {
    has "$tmp/err" "ranks cannot read each other's memory" 'the first job'
    [ $failures -gt 0 ] || skip "process_vm_readv is refused here"
}

# job N SLOW...: a job of N ranks; sets trials, changes, kinds (that have a rival), slow (of these, those planned on the slow side), refused
job() {
    local n=$1
    shift
    what="$n ranks, $*"
    timeout 200 "$run" -n "$n" -- "$here/adapted" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    read -r trials changes kinds slow refused < <(sed -n 's/[^0-9]*\([0-9]*\) trials, \([0-9]*\) changes; \([0-9]*\) kinds, \([0-9]*\) on.*refused \([01]\)/\1 \2 \3 \4 \5/p' \
        "$tmp/out") && [ $status = 0 ] || { fail "$what: status $status"; tail -n 5 "$tmp/out" "$tmp/err" >&2; trials=0 changes=0 kinds=0 slow=0 refused=0; }
}
holds() { (($1)) || fail "$what: not $1: trials=$trials changes=$changes kinds=$kinds slow=$slow refused=$refused"; }

job 2 single_copy
holds 'kinds >= 10 && trials >= kinds && changes == slow && refused == 0'
slow_single_copy=$slow
job 2 slots
holds 'kinds >= 10 && trials >= kinds && changes == slow && slow + slow_single_copy == kinds && refused == 0'
job 3 slots
holds 'kinds >= 10 && trials >= kinds && changes == slow && refused == 0'
HX_CHECK=1 HX_STATS=1 job 2 slots
holds 'changes == slow && changes + slow_single_copy == kinds'
has "$tmp/err" 'all 2 ranks: adapt_changes' 'HX_STATS'
HX_EXPLAIN=1 job 2 slots
grep -q 'from now on flat(.*which took .* us; flat(.*) took 10000.* us (HX_ADAPT)' "$tmp/err" || fail "HX_EXPLAIN does not tell of a change"

# the kernel refuses: no call fails, and single copy is not used for long, however fast it would be
job 3 slots refuse 6
holds 'refused == 1 && trials >= kinds && changes == kinds - slow'
job 2 slots refuse 400 # later, when calls have changed over to it
holds 'refused == 1 && changes > slow'
timeout 100 "$run" -n 2 -- "$here/adapted" slots secret >"$tmp/out" 2>"$tmp/err"
status=$?
[ $status = 77 ] || [ $status = 0 ] || { fail "memory of memfd_secret: status $status"; tail -n 5 "$tmp/out" "$tmp/err" >&2; }
[ $status = 77 ] || has "$tmp/out" 'refused 1' 'memory of memfd_secret'

# a rank that dies in a trial
port=$((20000 + $$ % 10000))
while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
: >"$tmp/out"
for rank in 0 1 2; do # without a launcher, which would end the others
    HX_ROOT=localhost:$port HX_RANK=$rank HX_SIZE=3 HX_SECRET=s HX_TIMEOUT=60 timeout -s KILL 90 "$here/adapted" none die >>"$tmp/out" 2>>"$tmp/err" &
done
wait
for rank in 0 2; do
    grep -q "^rank $rank: hx_.*rank 1 .*has died" "$tmp/out" || fail "rank $rank does not tell who has died: $(cat "$tmp/out")"
done

for setting in HX_ADAPT=0 HX_SINGLE_COPY=0; do
    timeout 100 "$run" -n 2 --env $setting -- "$here/adapted" slots >"$tmp/out" 2>"$tmp/err" || fail "$setting: status $?"
    has "$tmp/out" '0 trials, 0 changes; 0 kinds' $setting
done
timeout 100 "$run" -n 2 --nodes 2 -- "$here/adapted" slots >"$tmp/out" 2>"$tmp/err" || fail "two nodes: status $?"
has "$tmp/out" '0 trials, 0 changes; 0 kinds' 'two nodes'
finish
