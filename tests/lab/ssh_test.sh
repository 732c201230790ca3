#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_run --hosts over a real ssh: from the box ctl, as a login node, to three hosts. Whatever is killed, no host keeps anything.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tools/coll_run tests/runtime/bootstrap/boot_ring tests/lab/sum
ring=$top_builddir/tests/runtime/bootstrap/boot_ring
run=("$top_builddir/tools/coll_run" --agent "ssh -F none -i $scratch/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR")
mark=9$$ # a number of seconds that no other sleep has

sshd_up() { # with keys of its own, on hosts 1 to 3
    local host i
    command -v /usr/sbin/sshd || { echo "no sshd: apt-get install openssh-server" && return 1; }
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$scratch/key" && ssh-keygen -q -t ed25519 -N '' -f "$scratch/host" || return 1
    cp "$scratch/key.pub" "$scratch/authorized"
    for host in 1 2 3; do
        "$lab" exec $host -- /usr/sbin/sshd -f /dev/null -E "$scratch/sshd.$host" -o HostKey="$scratch/host" -o UsePAM=no \
            -o StrictModes=no -o AuthorizedKeysFile="$scratch/authorized" -o PidFile=none -o PermitRootLogin=yes || return 1
    done
    for ((i = 0; i < 50; i++)); do
        "$lab" exec 0 -- "${run[@]}" --hosts h1,h2,h3 true && return 0
        sleep 0.1
    done
    tail "$scratch"/sshd.?
    return 1
}

# expect STATUS TEXT ARGUMENT...: coll_run ends with STATUS, and a line of what it prints is TEXT (a pattern)
expect() {
    local status=0 expected=$1 text=$2
    shift 2
    timeout -k 5 40 "$lab" exec 0 -- "${run[@]}" "$@" >"$scratch/out" 2>&1 <<<input || status=$?
    cat "$scratch/out"
    echo "status $status, not $expected, or no line $text"
    [ $status = "$expected" ] && grep -Eqx -- "$text" "$scratch/out"
}

# shellcheck disable=SC2016
no_secret_shown() { # by any command line of this machine
    expect 0 '3 ranks looked' --hosts h1,h2:2 -- sh -c \
        'printf %s "$HX_SECRET" >"$0.$HX_RANK"; grep -qaFf "$0.$HX_RANK" /proc/[0-9]*/cmdline 2>/dev/null && exit 1; [ $HX_RANK != 0 ] || echo 3 ranks looked' "$scratch/secret"
}

gone() {
    local host i left=''
    for ((i = 0; i < 100; i++)); do
        left=$(pgrep -af "sleep $mark") || break
        sleep 0.1
    done
    for ((i = 0; i < 20; i++)); do
        [ -n "$left" ] || left=$(for host in 0 1 2 3; do "$lab" ps $host; done | grep -E "coll_run|hx_guard|ssh -F")
        [ -n "$left" ] || return 0
        echo "$left"
        left=
    done
    return 1
}

# ended HOST PATTERN SIGNAL STATUS: the first process there like this gets the signal; coll_run ends so, and nothing is left
ended() {
    local host=$1 pattern=$2 signal=$3 expected=$4 i status=0 job victim
    # started by env, because a shell makes background jobs ignore SIGINT
    "$lab" exec 0 -- env --default-signal=INT "${run[@]}" --hosts h1,h2:2,h3 -- sh -c "sleep $mark & exec sleep $mark" &
    job=$!
    for ((i = 0; i < 200 && $(pgrep -cxf "sleep $mark") < 8; i++)); do sleep 0.1; done
    victim=$("$lab" ps "$host" | grep -E "$pattern" | sed 's/ .*//;q')
    kill -"$signal" "$victim" || return 1
    wait $job || status=$?
    echo "status $status, expected $expected"
    [ $status = "$expected" ] && gone
}

check "lab up" "$lab" up 4
check "sshd on three hosts" sshd_up
check "store, ranks on three hosts" "$lab" exec 0 -- "${run[@]}" --hosts h1,h2:2,h3 -- "$ring" --expect 4 --bytes 200000
check "an all-reduce" expect 0 'rank 6 of 7: 28 280' -n 7 --hosts h1:1,h2,h3 -- "$top_builddir/tests/lab/sum"
# shellcheck disable=SC2016
check "settings, folder, prefix, output" expect 0 "\[2\] h3 x y 77 h2 $PWD" --hosts h1,h2,h3 --prefix --env 'A=x y' --env HX_TIMEOUT=77 \
    -- sh -c 'echo "$(hostname) $A $HX_TIMEOUT h2 $(pwd)"'
check "input goes to rank 0" expect 0 '1 input' --hosts h1,h2 -- sh -c 'cat -n | tr -s " \t" " " | sed "s/^ //"'
check "no command line shows the secret" no_secret_shown
check "a rank fails" expect 5 'coll_run: rank 2 \(pid [0-9]+ on h2\) exited with status 5; ending the others' --hosts h1,h2:2,h3 \
    -- sh -c "[ \$HX_RANK != 2 ] || exit 5; sleep $mark"
check "a rank dies" expect 137 'coll_run: rank 3 \(pid [0-9]+ on h3\) was killed by signal 9 \(Killed\).*' --hosts h1,h2:2,h3 -- "$ring" --die 3
check "a rank aborts" expect 1 'coll_run: rank 1 has aborted the job: asked to; ending all ranks' --hosts h1,h2,h3 -- "$ring" --abort 1
check "no such host" expect 255 'coll_run: host nosuch: ssh: Could not resolve hostname nosuch: .*' --hosts h1,nosuch -- sleep $mark
check "no sshd there" expect 255 'coll_run: host h4: ssh: connect to host h4 port 22: Connection refused' --hosts h1,h4 -- sleep $mark
check "no such program" expect 127 'coll_run: host h2: cannot run program "nosuch": No such file or directory.*' --hosts h2 -- nosuch
no_agent() { local run=("$top_builddir/tools/coll_run" --agent nosuch) && expect "$@"; }
check "no such agent" no_agent 127 'coll_run: host h1: cannot run the agent "nosuch": No such file or directory' --hosts h1 true
check "the address of the store" expect 0 'h1:[0-9]+' --root h1 --hosts h1,h2 -- sh -c "echo \$HX_ROOT"
check "an address that the others do not reach" expect 1 'coll_run: host h2: cannot reach .*: 127.0.0.1 port [0-9]+: Connection refused\. .*' \
    --root 127.0.0.1 --hosts h1,h2 -- sleep $mark
check "the job takes too long" expect 124 'coll_run: the job has run for 1 s \(--timeout\): ending it' --timeout 1 --hosts h1,h2 -- sleep $mark
check "Ctrl-C" ended 0 "tools/coll_run" INT 130
check "coll_run is killed" ended 0 "tools/coll_run" KILL 137
check "an agent is killed" ended 0 "ssh -F .* h2 " KILL 137
check "a keeper is killed" ended 2 "coll_run --keeper" KILL 255
check "a rank is killed" ended 3 "[0-9] sleep $mark" KILL 137
# shellcheck disable=SC2016
prints "and nothing is left" "" "$lab" exec 2 -- sh -c 'find /dev/shm "$TMPDIR" -mindepth 1'
check "lab down" "$lab" down
finish
