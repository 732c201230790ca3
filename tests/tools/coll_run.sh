#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# coll_run: exit status and message for each way that a job ends, bad arguments, signals, output, and that
# nothing is left.
set -u
run=${top_builddir:-.}/tools/coll_run
ring=${top_builddir:-.}/tests/runtime/bootstrap/boot_ring
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
unset HX_NODES HX_ROOT HX_RANK HX_SIZE HX_SECRET HX_BOOTSTRAP

fail()
{
    echo "FAILED: $*"
    failed=1
}

# expect STATUS TEXT ARGUMENT...: coll_run ends with STATUS, and TEXT (a pattern) is in what it prints; TEXT - for
# anything.
expect()
{
    status=$1 text=$2
    shift 2
    timeout 40 "$run" "$@" >"$work/out" 2>&1 </dev/null
    got=$?
    [ $got = "$status" ] || fail "coll_run $*: status $got, not $status: $(cat "$work/out")"
    [ "$text" = - ] || grep -q -e "$text" "$work/out" || fail "coll_run $*: no \"$text\" in: $(cat "$work/out")"
}

# gone COMMAND-PATTERN: within 5 s no process has it; a zombie has no command line and counts as gone.
gone()
{
    for try in $(seq 50); do
        pgrep -f "$1" >/dev/null || return 0
        sleep 0.1
    done
    fail "left behind: $(pgrep -af "$1")"
}

# under_way COUNT COMMAND: within 20 s so many processes are that
under_way()
{
    for try in $(seq 200); do
        [ "$(pgrep -cxf "$2")" -lt "$1" ] || return 0
        sleep 0.1
    done
    fail "not $1 of: $2"
}

# ---- how jobs end
expect 0 - -n 3 true
expect 1 'rank [0-2] (pid [0-9]*) exited with status 1' -n 3 false
expect 5 'rank 1 (pid [0-9]*) exited with status 5; ending the others' -n 3 -- \
    sh -c '[ $HX_RANK != 1 ] || exit 5; sleep 30'
expect 137 'rank 2 (pid [0-9]*) was killed by signal 9 (Killed)' -n 4 "$ring" --die 2
expect 3 'rank 1 has ended' -n 3 -- sh -c '[ $HX_RANK = 1 ] || exec "$0"' "$ring" # without starting
expect 3 'rank [01]: another process was rank [01] before; no rank can join its job twice' -n 2 -- sh -c '"$0" && "$0"' "$ring"
expect 137 'error: rank 2 has died' -n 4 -- \
    sh -c '[ $HX_RANK = 2 ] && exec "$0" --die 2; trap "" TERM; "$0"; exit 0' "$ring"
expect 1 'rank 1 has aborted the job: asked to' -n 4 "$ring" --abort 1
expect 3 'for rank 1 (2 of 3 have arrived, 3 ever connected)' -n 3 --env HX_TIMEOUT=3 "$ring" --late 1 30
expect 124 'has run for 0.5 s' -n 2 --timeout 0.5 sleep 30
expect 5 'still run 0.3 s later: killing them' -n 2 --kill-after 0.3 -- \
    sh -c 'trap "" TERM; [ $HX_RANK = 1 ] || { : >"$0"; sleep 30; sleep 30; }; until [ -e "$0" ]; do sleep 0.1; done; exit 5' "$work/deaf"

# ---- bad arguments
expect 2 'number of ranks is missing' true
expect 2 'ranks=0: expected a whole number from 1' -n 0 true
expect 0 - -np 3 true
expect 1 'rank [0-1] (pid [0-9]*) exited with status 1' --np 2 false
expect 2 'ranks=p: expected a whole number' -np
expect 2 'ranks=two: expected a whole number' -np two true
expect 2 'ranks=two: expected a whole number' -n two true
expect 2 'program to run is missing' -n 2
expect 2 '--nodes 3: the job has only 2 ranks; choose 1 to 2 nodes' -n 2 --nodes 3 true
expect 2 'HX_NODES=3: the job has only 2 ranks; choose 1 to 2 nodes' -n 2 --env HX_NODES=3 true
expect 2 '--nodes 3,1,2: these nodes have 6 ranks in all, but the job has 5; choose sizes whose sum is 5' -n 5 --nodes 3,1,2 true
expect 2 'HX_NODES=3,1: these nodes have 4 ranks in all, but the job has 5' -n 5 --env HX_NODES=3,1 true
expect 2 '--nodes 0: 0 nodes; choose 1 to 2 nodes, or list the ranks of each, 2 in all' -n 2 --nodes 0 true
expect 2 '--nodes -1: shape "-1": expected a number of nodes (2), ranks per node' -n 2 --nodes=-1 true
expect 2 '--nodes 2,: shape "2,": expected' -n 2 --nodes 2, true
expect 2 '--nodes 2,0: shape "2,0": expected' -n 2 --nodes 2,0 true
expect 2 'HX_NODES=two: shape "two": expected' -n 2 --env HX_NODES=two true
expect 0 - -n 2 --env HX_NODES=0 true
expect 2 'unknown bind "socket"; choices: auto none core' -n 2 --bind socket true
expect 2 'only [0-9]* usable cores' -n 10000 --bind core true
expect 2 '--env FOO: expected NAME=VALUE' -n 2 --env FOO true
expect 2 '--env HX_BOOTSTRAP=pmi2: coll_run itself sets HX_BOOTSTRAP for every rank' -n 2 --env HX_BOOTSTRAP=pmi2 true
expect 2 '--env HX_RANK=1: coll_run itself sets HX_RANK' -n 2 --env HX_RANK=1 true
expect 2 'timeout=-1: expected a number from 0' -n 2 --timeout -1 true
expect 2 'unknown option "colour"; choices: ranks np nodes' -n 2 --colour true
expect 2 'did you mean prefix?' -n 2 --perfix true
expect 2 'unknown option "x"' -x 2 true
expect 2 'option --ranks needs a value' -n
expect 2 'option --nodes needs a value' -n 2 --nodes
expect 2 '--hosts a,b,a: host a is given twice; write it once, with the number of its ranks: a:2' --hosts a,b,a true
expect 2 '--hosts a:0: a:0: expected a number of ranks from 1' --hosts a:0 true
expect 2 '--hosts a:x: a:x: expected a number of ranks from 1' --hosts a:x true
expect 2 '--hosts a,,b: "" is not a host: expected HOST or HOST:RANKS' --hosts a,,b true
expect 2 '--hosts -x: "-x" is not a host' --hosts=-x true
expect 2 '--hosts a, b: " b" is not a host' --hosts 'a, b' true
expect 2 '--hosts a:2:3: "a:2:3" is not a host: expected HOST or HOST:RANKS, such as a, user@b:4 or' --hosts a:2:3 true
expect 2 '--hosts u@: "u@" is not a host' --hosts u@ true
expect 2 'these hosts have 3 ranks, but -n is 4' -n 4 --hosts a:1,b:2 true
expect 2 'these hosts have at least 3 ranks, but -n is 2' -n 2 --hosts a,b:2 true
expect 2 'emulates nodes on one machine: leave out this setting, or --hosts' --nodes 2 --hosts a,b true
expect 2 '--agent needs --hosts' -n 2 --agent ssh true
expect 2 '--root needs --hosts' -n 2 --root 10.0.0.1 true
expect 2 '--agent is empty' --agent ' ' --hosts a true
expect 2 'program to run is missing' --hosts a
expect 127 'cannot run program "no-such-program"' -n 2 no-such-program
expect 127 'cannot run program "./no-such-program"' -n 2 ./no-such-program
expect 126 'Is a directory' -n 2 /

# ---- --hosts: over an agent that stays on this machine; over ssh: tests/lab/ssh_test.sh
printf '#!/bin/sh\nhost=$1; shift; echo "welcome to $host"; echo "$host has a motto" >&2; exec sh -c "$*"\n' >"$work/agent"
chmod +x "$work/agent"
expect 0 '^\[2\] 2/3/y z$' --agent "$work/agent" --hosts a,b:2 --prefix --env 'A=y z' -- sh -c 'echo "$HX_RANK/$HX_SIZE/$A"'
! grep -q welcome "$work/out" || fail "what the login shell writes is taken for output: $(cat "$work/out")"
expect 0 'coll_run: host b: b has a motto' --agent "$work/agent" --hosts a,b:2 -- "$ring" --expect 3
expect 0 - --agent "$work/agent" --hosts a,b:2 seq 20000
[ "$(sort -u "$work/out" | grep -vc coll_run)" = 20000 ] || fail "--hosts mixed lines: $(sort -u "$work/out" | wc -l)"
[ "$(seq 200000 | "$run" --agent "$work/agent" --hosts a,b -- sh -c '[ $HX_RANK = 1 ] || cat' 2>/dev/null | cksum)" = "$(seq 200000 | cksum)" ] ||
    fail "--hosts: rank 0 did not get all of the standard input, or not all came back"
expect 0 - --agent "$work/agent" --hosts a,b true </dev/zero # which no rank reads
expect 0 'coll_run: host fd00::2: fd00::2 has a motto' --agent "$work/agent" --hosts '[fd00::2]:2,u@::1,u@b:1' true
expect 5 'rank 2 (pid [0-9]* on b) exited with status 5' --agent "$work/agent" --hosts a,b:2 -- sh -c '[ $HX_RANK != 2 ] || exit 5; sleep 30'
expect 1 'rank [0-2] (pid [0-9]* on [ab]) exited with status 1' --agent "$work/agent" --hosts a,b:2 false
expect 1 'coll_run: host a: the agent "false a" ended with status 1' --agent false --hosts a true
# an unfinished last line is printed, also if its host's keeper is killed
expect 137 '^\[1\] half$' --agent "$work/agent" --hosts a,b --prefix -- sh -c '[ $HX_RANK = 0 ] && exec sleep 30; printf half; sleep 0.5; kill -9 $PPID'
# c's rank fails first, and b's because of it. But the message of b arrives first, then that of c, then that of the store
printf '#!/bin/sh\nhost=$1; shift; case $host in a) late=0.2 ;; b) late=0 ;; c) late=0.1 ;; esac
sh -c "$*" | perl -e '\''while (sysread STDIN, $b, 65536) { select undef, undef, undef, $ARGV[0]; syswrite STDOUT, $b }'\'' $late\n' >"$work/slow"
chmod +x "$work/slow"
expect 5 'coll_run: rank 2 (pid [0-9]* on c) exited with status 5' --agent "$work/slow" --hosts a,b,c -- \
    sh -c '[ $HX_RANK != 2 ] && exec "$0"; "$0" --die 2; exit 5' "$ring"
# silent strangers connect to where b will look for the store
cat >"$work/strangers" <<'END'
#!/usr/bin/env python3
import socket, struct, subprocess, sys
keeper = subprocess.Popen(["sh", "-c", " ".join(sys.argv[2:])], stdin=subprocess.PIPE)
strangers, take = [], sys.stdin.buffer.read
while head := take(12):
    kind, _, count = struct.unpack("!III", head)
    value = take(count)
    if kind == 2 and sys.argv[1] == "b":  # FRAME_STORE: the port, and addresses
        strangers = [socket.create_connection(("127.0.0.1", int(value.split()[0]))) for _ in range(40)]
    try:
        keeper.stdin.write(head + value)
        keeper.stdin.flush()
    except BrokenPipeError:
        break
keeper.stdin.close()
sys.exit(keeper.wait())
END
chmod +x "$work/strangers"
start=$(date +%s)
expect 0 - --agent "$work/strangers" --hosts a,b -- "$ring" --expect 2
[ $(($(date +%s) - start)) -lt 10 ] || fail "--hosts: strangers held the start for $(($(date +%s) - start)) s"
# a keeper whose coll_run has another version, or that gets no whole job
keeper() # JOB-BYTES TEXT
{
    printf '\0\0\0\1\0\0\0\0\0\0\0'"$1" | "$run" --keeper >/dev/null 2>"$work/err"
    grep -q "$2" "$work/err" || fail "keeper: no \"$2\" in: $(cat "$work/err")"
}
keeper '\0060.0.1\0' 'but coll_run started the job with 0.0.1: install the same version on all hosts'
version=$("$run" --version | sed 's/.* //')
keeper "$(printf '\\%03o' $((${#version} + 3)))$version"'\0001\0' 'the description of the job is incomplete'

# ---- environment, options of the program, output
mkdir "$work/bin"
printf '#!/bin/sh\necho found\n' >"$work/bin/greet"
chmod +x "$work/bin/greet"
expect 0 '^1$' -n 1 -- env -u IPATH_NO_BACKTRACE "$run" -n 1 -- sh -c 'echo "$IPATH_NO_BACKTRACE"'
expect 0 '^no$' -n 1 --env IPATH_NO_BACKTRACE=no -- sh -c 'echo "$IPATH_NO_BACKTRACE"'
expect 0 '^\[1\] 1/2/2/auto/y z$' -n 2 --nodes 2 --prefix --env 'A=y z' -- \
    sh -c 'echo "$HX_RANK/$HX_SIZE/$HX_NODES/$HX_BOOTSTRAP/$A"'
expect 0 '^\[5\] 3,1,2$' -n 6 --nodes 3,1,2 --prefix -- sh -c 'echo "$HX_NODES"'
expect 0 '^found$' -n 1 --env PATH="$work/bin" -- greet
expect 0 '^-n --prefix$' -n 1 printf '%s %s\n' -n --prefix
expect 0 '^\[0\] no end$' -n 1 --prefix printf 'no end'
expect 0 - -n 3 --prefix seq 20000
lines=$(sort -u "$work/out" | wc -l)
[ "$lines" = 60000 ] || fail "--prefix lost or mixed lines: $lines of 60000"
[ "$(echo text | "$run" -n 2 cat)" = text ] || fail "rank 0 did not get the standard input"
expect 0 - -n 1 -- sh -c 'taskset -p $$'
one=$(nproc)
if [ "$one" -ge 2 ]; then
    [ "$("$run" -n 2 -- sh -c 'taskset -p $$ | sed "s/.*: //"' | sort -u | wc -l)" = 2 ] || fail "two ranks on one core"
    [ "$("$run" -n 2 --bind none -- nproc | sort -u)" = "$one" ] || fail "--bind none binds"
    [ "$("$run" -n $((2 * one)) -- sh -c 'taskset -p $$ | sed "s/.*: //"' | sort | uniq -c | awk '{print $1}' | sort -u)" = 2 ] ||
        fail "two ranks per core are not spread evenly"
fi

if [ -w /dev/full ]; then # what is lost is told once, and the job goes on
    for options in "-n 3 --prefix seq 3" --help --version; do
        "$run" $options >/dev/full 2>"$work/err" </dev/null
        got=$?
        [ "$got $(grep -c 'coll_run: standard output: No space left on device' "$work/err")" = "1 1" ] ||
            fail "$options on a full disk: status $got: $(cat "$work/err")"
    done
    "$run" -n 1 --prefix -- sh -c 'echo lost; exit 5' >/dev/full 2>"$work/err" </dev/null
    got=$?
    [ $got = 5 ] || fail "--prefix on a full disk: the rank's status is lost: $got"
fi

# ---- signals, and nothing left behind
mark=3$$ # a number of seconds that no other sleep has
for signal in INT TERM HUP QUIT; do
    # Started by env, because a shell makes background jobs ignore SIGINT and SIGQUIT.
    env --default-signal=INT,QUIT "$run" -n 3 -- sh -c "sleep $mark & sleep $mark" 2>"$work/err" &
    pid=$!
    under_way 6 "sleep $mark"
    kill -s $signal $pid
    wait $pid
    got=$?
    case $signal in INT) number=2 ;; TERM) number=15 ;; HUP) number=1 ;; QUIT) number=3 ;; esac
    [ $got = $((128 + number)) ] || fail "SIG$signal: status $got: $(cat "$work/err")"
    gone "sleep $mark"
done
# coll_run killed, and all of its name: also what is behind shells of the ranks, or of jobs in a job
for job in "sleep $mark" "sh -c 'sleep $mark; true'" "sh -c '\"$run\" -n 1 -- sh -c \"sleep $mark; true\"; true'"; do
    eval "exec $run -n 3 -- $job" 2>/dev/null &
    pid=$!
    under_way 3 "sleep $mark"
    kill -s KILL $pid
    wait $pid 2>/dev/null
    gone "sleep $mark"
done
# What was ignored stays ignored, as under nohup.
(trap '' HUP && exec "$run" -n 2 sleep 1) &
pid=$!
under_way 2 "sleep 1"
kill -s HUP $pid
wait $pid || fail "SIGHUP ends a job that was to ignore it: $?"
# The terminal's stop stops the ranks, too.
env --default-signal=TSTP "$run" -n 2 sleep $mark &
pid=$!
under_way 2 "sleep $mark"
states() { ps -o stat= -p "$pid,$(pgrep -d, -xf "sleep $mark")" | cut -c1 | sort -u | tr -d '\n'; }
for turn in TSTP:T CONT:S; do
    kill -s ${turn%:*} $pid
    for try in $(seq 50); do
        [ "$(states)" = ${turn#*:} ] && break
        sleep 0.1
    done
    [ "$(states)" = ${turn#*:} ] || fail "SIG${turn%:*}: the job's processes are in states $(states), not ${turn#*:}"
done
kill -s TERM $pid
wait $pid

# ---- no output, however much or slowly taken, keeps signals and time-outs waiting, and none is lost
expect_within() # SECONDS STATUS READER ARGUMENT...
{
    seconds=$1 status=$2 reader=$3
    shift 3
    start=$(date +%s)
    { timeout -k 1 30 "$run" "$@" 2>"$work/err"; echo $? >"$work/status"; } </dev/null | (sh -c "$reader"; cat "$work/status" >"$work/late" 2>&1) &
    for try in $(seq $((10 * seconds))); do
        [ -s "$work/status" ] && break
        sleep 0.1
    done
    [ "$(cat "$work/status")" = $status ] || fail "coll_run $* | $reader: status $(cat "$work/status"), not $status, within $seconds s: $(cat "$work/err")"
    wait
    rm -f "$work/status"
}
expect_within 5 124 'cat >/dev/null' -n 1 --prefix --timeout 1 yes
expect_within 5 124 'sleep 8' -n 1 --prefix --timeout 1 --kill-after 0.5 yes
expect_within 5 141 'head -1 >/dev/null' -n 1 --prefix -- sh -c "sleep $mark & yes"
gone "sleep $mark"
expect_within 20 0 "sleep 1; sort -u | wc -l >$work/lines" -n 1 --prefix seq 100000
[ "$(cat "$work/lines")" = 100000 ] || fail "a slow reader got $(cat "$work/lines") of 100000 lines"
perl -MFcntl -e 'fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY); exec @ARGV' "$run" -n 1 --prefix seq 100000 | (sleep 1; sort -u | wc -l >"$work/lines")
[ "$(cat "$work/lines")" = 100000 ] || fail "from a descriptor that does not wait came $(cat "$work/lines") of 100000 lines"
expect 0 '^\[0\] rest$' -n 1 --prefix -- sh -c 'setsid sleep 3 & printf rest' # who outlives the rank has nothing to say
exit $failed
