#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that grow, by real processes: newcomers wait in coll_store, members admit them. See grown.c.
. "$(dirname "$0")/common.sh"
store=$top_builddir/tools/coll_store
export HX_SECRET=grow HX_TIMEOUT=60 FI_LOG_LEVEL=none
port=$((20000 + $$ % 10000))
at=127.0.0.1:$port
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT

# store_start: at a fixed address, so that it can be started again
store_start() {
    "$store" --listen $at train test >"$tmp/address" 2>"$tmp/store" &
    store_pid=$!
    await_file "$tmp/address" 1
}

store_stop() {
    kill "${1:--TERM}" $store_pid
    wait $store_pid 2>/dev/null
}

# newcomers N: in the background
newcomers() {
    local i
    for ((i = 0; i < $1; i++)); do
        timeout 100 "$here/grown" join $at/train >>"$tmp/out" 2>>"$tmp/err" &
        pids+=($!)
    done
}

# ends WHAT: members and newcomers have ended well
ends() {
    local pid
    for pid in "${pids[@]}"; do
        wait "$pid" || { fail "$1: exit $?"; tail -n 5 "$tmp/err" >&2; }
    done
    pids=()
    grep -h '^grow ' "$tmp/out" >>"$tmp/times"
    : >"$tmp/out"
    : >"$tmp/err"
}

# members FROM TO NODES [OPTION...]: of a job of coll_run, in the background
members() {
    local n=$1 to=$2 options=()
    [ "$3" = 1 ] || options=(--nodes "$3")
    HX_STORE=$at/train timeout 100 "$run" -n "$n" "${options[@]}" "${@:4}" -- "$here/grown" ${grows:-grow} "$n" "$to" >>"$tmp/out" 2>>"$tmp/err" &
    pids+=($!)
}

# by_hand FROM TO NODES: the last rank dies; no launcher ends the others
by_hand() {
    local r
    for ((r = 0; r < $1; r++)); do
        HX_STORE=$at/train HX_NODES=$3 HX_ROOT=localhost:$((port + 1)) HX_RANK=$r HX_SIZE=$1 timeout 100 "$here/grown" grow "$1" "$2" death \
            >>"$tmp/out" 2>>"$tmp/err" &
        if [ $r = $(($1 - 1)) ]; then disown $!; else pids+=($!); fi
    done
}

pids=()
: >"$tmp/out"
: >"$tmp/err"
store_start
for shape in 2:4:1 3:5:2 3:5:2,1 1:3:1; do
    IFS=: read -r from to nodes <<<"$shape"
    newcomers $((to - from))
    members "$from" "$to" "$nodes"
    ends "grow $shape"
done

# with threads of Hierax, and one newcomer after the other
members 2 4 2 --env HX_PROGRESS_THREAD=1
newcomers 1
await_file "$tmp/out" 1
newcomers 1
ends "one after the other"

# newcomers that die while they join: the members take the next ones, also those that were admitted together with it
for when in admitted met fenced started; do
    for nodes in 1 2; do
        "$here/grown_dies" $at/train $when >>"$tmp/out" 2>>"$tmp/err" &
        dies=$!
        disown $dies
        sleep 0.2 # it waits first
        newcomers 2
        members 2 4 $nodes
        ended $dies 60 || fail "the newcomer that dies when it has $when lives"
        ends "a newcomer dies when it has $when, $nodes nodes"
    done
done
[ "$(grep -c '^grow 2 to [34]' "$tmp/times")" -ge 8 ] || fail "the members have not gone on after a newcomer died"

# one that stops, and is killed from outside
"$here/grown_dies" $at/train stops >"$tmp/stopped" 2>>"$tmp/err" &
dies=$!
disown $dies
sleep 0.2
newcomers 1
members 2 3 1
await_file "$tmp/stopped" 1
kill -KILL $dies
ends "a newcomer stops"

# newcomers that die in each start, and others come at once: a call that waits for none ends
die_again() { while [ -e "$tmp/again" ]; do "$here/grown_dies" $at/train fenced; done; }
touch "$tmp/again"
for ((i = 0; i < 3; i++)); do
    die_again >/dev/null 2>&1 &
    loops[i]=$!
done
sleep 0.3
HX_STORE=$at/train timeout 60 "$run" -n 2 -- "$here/grown" briefly 40 2>"$tmp/err" || { fail "newcomers die again and again: exit $?"; cat "$tmp/err" >&2; }
rm "$tmp/again"
store_stop # so those that wait end
wait "${loops[@]}"
store_start

# others that stop, and stay: the members go on without them, long before HX_TIMEOUT
for shape in stops:1 stalls:2; do
    IFS=: read -r when nodes <<<"$shape"
    HX_TIMEOUT=1000 "$here/grown_dies" $at/train $when >"$tmp/stopped" 2>>"$tmp/err" &
    dies=$!
    sleep 0.2
    HX_TIMEOUT=1000 newcomers 1
    HX_TIMEOUT=1000 grows=soon members 2 3 $nodes
    await_file "$tmp/stopped" 1
    ends "a newcomer $when and stays, $nodes nodes"
    kill -CONT $dies || fail "the newcomer that $when has ended"
    wait $dies
    status=$?
    [ $status = 4 ] || [ $status = 5 ] || fail "the newcomer that $when: exit $status" # it gets an error of its start, or has gone through it
done

# another rank has died before
for nodes in 1 3; do
    newcomers 2
    by_hand 3 4 $nodes
    ends "after a death, $nodes nodes"
done

# the store is killed while a process waits in it, and while a job runs that has grown already
newcomers 1
sleep 0.3
store_stop -KILL
store_start
members 2 4 1
await_file "$tmp/out" 1
store_stop -KILL
store_start
newcomers 1
ends "the store is started again"

# again and again: nothing is left behind
for nodes in 1 2; do
    options=()
    [ $nodes = 1 ] || options=(--nodes $nodes)
    export HX_STORE=$at/train
    timeout 100 "$run" -n 2 "${options[@]}" -- "$here/grown" rounds 8 >>"$tmp/out" 2>>"$tmp/err" &
    pids+=($!)
    timeout 100 "$here/grown" joins 8 >>"$tmp/out" 2>>"$tmp/err" &
    pids+=($!)
    unset HX_STORE
    ends "again and again, $nodes nodes"
done

# no process joins

HX_STORE=$at/test timeout 60 "$run" -n 2 -- "$here/grown" none 1.2 2>"$tmp/err" || { fail "no process joins: exit $?"; cat "$tmp/err" >&2; }

# a member dies while the members wait for a process: the others learn it soon
for victim in 0 2; do
    store_stop
    store_start # it knows of no members now
    for ((r = 0; r < 3; r++)); do
        HX_STORE=$at/test HX_NODES=1 HX_ROOT=localhost:$((port + 3 + victim)) HX_RANK=$r HX_SIZE=3 timeout 100 "$here/grown" none 90 \
            >"$tmp/out.$r" 2>"$tmp/err.$r" &
        members[r]=$!
    done
    for ((i = 0; i < 1500; i++)); do # the store knows the members when rank 0 has asked it
        kill -USR1 $store_pid
        sleep 0.02
        grep -q '^test: generation 0, 3 members' "$tmp/store" && break
    done
    start=$(now)
    pkill -KILL -P "${members[victim]}"
    for ((r = 0; r < 3; r++)); do
        wait "${members[r]}" && fail "rank $r has grown without rank $victim"
        [ $r = $victim ] || has "$tmp/err.$r" "rank $victim has died" "rank $r when rank $victim dies"
    done
    (($(now) - start < 30000)) || fail "the death of rank $victim: it took $(($(now) - start)) ms until the others ended"
done
: >"$tmp/out"

# while no store answers, a vote takes no time
HX_STORE=127.0.0.1:$((port + 2))/train timeout 60 "$run" -n 2 -- "$here/grown" votes 40 2>"$tmp/err" || { fail "40 votes: exit $?"; cat "$tmp/err" >&2; }

# the store hangs: members get an error in time, and go on; a newcomer gives up
kill -STOP $store_pid
HX_STORE=$at/train GROWN_STATUS=5 GROWN_TEXT="has not answered within 5 s; if another program has this port, correct HX_STORE" \
    timeout 100 "$run" -n 2 -- "$here/grown" wrong 2>"$tmp/err" || { fail "the store hangs: exit $?"; cat "$tmp/err" >&2; }
HX_STORE=$at/train HX_TIMEOUT=8 GROWN_STATUS=5 GROWN_TEXT="has not answered within 4 s;" \
    timeout 100 "$run" -n 2 -- "$here/grown" wrong 2>"$tmp/err" || { fail "the store hangs, HX_TIMEOUT=8: exit $?"; cat "$tmp/err" >&2; }
start=$(now)
HX_TIMEOUT=3 timeout 60 "$here/grown" join $at/train 2>"$tmp/err" && fail "a store that is stopped has let a process in"
has "$tmp/err" "has not answered within 3 s; if another program has this port, correct HX_STORE; tried for 3 s (HX_TIMEOUT)" "the store hangs"
(($(now) - start < 9000)) || fail "a process has waited $(($(now) - start)) ms for a store that hangs, with HX_TIMEOUT=3"
kill -CONT $store_pid

# wrong: newcomers
refuses() { # TEXT COMMAND...: the newcomer's error has the text
    timeout 60 "${@:2}" >"$tmp/out" 2>"$tmp/err" && fail "${*:2} has joined"
    has "$tmp/err" "$1" "${*:2}"
}
refuses 'the store has no name "trian"; its names are: train, test' "$here/grown" join $at/trian
refuses 'wrong HX_SECRET' env HX_SECRET=other "$here/grown" join $at/train
refuses 'is not host:port/name' "$here/grown" join $at
refuses 'HX_STORE is not set' "$here/grown" join
refuses 'hx_join: where "" is not host:port/name' "$here/grown" join ""
refuses 'the store refuses this process: it has no HX_SECRET' env -u HX_SECRET "$here/grown" join $at/train
refuses 'HX_STORE="here" is not host:port/name' env HX_STORE=here "$here/grown" join
refuses 'or set HX_STORE to an address that all processes reach; tried for 1 s (HX_TIMEOUT)' env HX_TIMEOUT=1 "$here/grown" join 127.0.0.1:$((port + 2))/train

# the last rank makes another call, or has other arguments
for what in n seconds wait_size allreduce; do
    for options in "-n 2" "-n 3" "-n 2 --nodes 2" "-n 3 --nodes 3" "-n 3 --nodes 2,1 --env HX_CHECK=1"; do
        # shellcheck disable=SC2086
        HX_STORE=$at/train timeout 60 "$run" $options -- "$here/grown" unlike $what 2>"$tmp/err" ||
            { fail "another $what, $options: exit $?"; cat "$tmp/err" >&2; }
    done
done

for nodes in 1 2; do
    newcomers 1
    HX_STORE=$at/train HX_CHECK=1 timeout 100 "$run" -n 2 --nodes $nodes -- "$here/grown" keeps 2>"$tmp/keeps" || { fail "keeps, $nodes nodes: exit $?"; cat "$tmp/keeps" >&2; }
    ends "keeps, $nodes nodes"
done
HX_STORE=$at/train timeout 60 "$run" -n 3 -- "$here/grown" revoked 2>"$tmp/err" || { fail "revoked: exit $?"; cat "$tmp/err" >&2; }
HX_STORE=$at/train timeout 60 "$run" -n 2 -- "$here/grown" held 2>"$tmp/err" || { fail "held: exit $?"; cat "$tmp/err" >&2; }
# the store closes every connection: an error in time, also with a short HX_TIMEOUT
python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
while True:
    s.accept()[0].close()' $((port + 9)) >"$tmp/listens" &
for ((i = 0; i < 100; i++)); do
    [ ! -s "$tmp/listens" ] || break
    sleep 0.1
done
HX_STORE=127.0.0.1:$((port + 9))/train HX_TIMEOUT=10 GROWN_STATUS=5 GROWN_TEXT="closes every connection at once" \
    timeout 100 "$run" -n 2 -- "$here/grown" wrong 2>"$tmp/err" || { fail "connections are closed: exit $?"; cat "$tmp/err" >&2; }
kill $!

# wrong: members
members_refuse() { # STATUS TEXT X=Y...
    timeout 60 env GROWN_STATUS="$1" GROWN_TEXT="$2" "${@:3}" "$run" -n 2 -- "$here/grown" wrong >"$tmp/out" 2>"$tmp/err" ||
        { fail "${*:3}: exit $?"; cat "$tmp/err" >&2; }
}
members_refuse 3 'HX_STORE is not set' HX_LOG=error
members_refuse 3 'is not host:port/name' HX_STORE=$at
members_refuse 5 'its names are: train, test' HX_STORE=$at/none
members_refuse 5 'Connection refused' HX_STORE=127.0.0.1:$((port + 2))/train
members_refuse 5 'wrong HX_SECRET' HX_STORE=$at/train HX_SECRET=other
HX_ROOT=$at HX_RANK=0 HX_SIZE=1 timeout 60 "$here/grown" none 1 2>"$tmp/err" && fail "coll_store serves the start of a job"
has "$tmp/err" "its address belongs in HX_STORE" "HX_ROOT at coll_store"
store_stop

sort -t: -k2 -n "$tmp/times" | awk '{ ms[NR] = $(NF - 1) } END { printf "%d times: median %d ms, longest %d ms\n", NR, ms[int((NR + 1) / 2)], ms[NR] }'
finish
