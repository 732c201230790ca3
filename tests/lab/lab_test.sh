#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the lab itself: its hosts share nothing but the network, each launcher starts jobs over them, nothing stays.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"

on() { # HOST command...
    local host=$1
    shift
    "$lab" exec "$host" -- "$@"
}

host_names() { for h in ctl 1 4; do on $h hostname; done; }
devices() { on 2 ls /sys/class/net; }

own_shm() {
    on 1 sh -c 'echo one >/dev/shm/x'
    on 2 sh -c 'echo two >/dev/shm/x'
    on 1 cat /dev/shm/x && on 2 cat /dev/shm/x
    ! [ -e /dev/shm/x ]
}

# shellcheck disable=SC2016
limited() { # 10 MB at 400 Mbit/s take 0.2 s; without the limit, some 10 ms
    on 1 perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalPort => 7000) or die $!;
        $c = $l->accept; $n += length while sysread $c, $_, 65536; exit($n != 10000000)' &
    on 2 perl -MIO::Socket::INET -MTime::HiRes=time,sleep -e 'for (1..100) {
            last if $s = IO::Socket::INET->new("10.99.0.1:7000");
            sleep 0.1;
        }
        $s or die $!;
        $t = time; print $s "x" x 10000000; shutdown $s, 1; sysread $s, $_, 1; $t = time - $t;
        print "10 MB in $t s\n"; exit($t < 0.15 || $t > 5)' && wait $!
}

mpi_build() { mpicc.openmpi -o "$scratch/mpi_hello" "$here/mpi_hello.c"; }

pmix_build() {
    local flags
    flags=$(pkg-config --cflags --libs pmix) && ${CC:-cc} -o "$scratch/pmix_hello" "$here/pmix_hello.c" $flags
}

coll_ranks() { # ranks are told who they are, and one that fails ends the others and the job
    # shellcheck disable=SC2016
    "$lab" coll_run 3 2,1,1 -- sh -c 'echo "$(hostname):$HX_RANK/$HX_SIZE@${HX_ROOT%:*}"'
}
coll_cyclic() { LAB_MAP=cyclic "$lab" coll_run 2 2 -- sh -c 'echo "$(hostname):$HX_RANK"'; }
coll_failing() {
    local status=0
    # shellcheck disable=SC2016
    "$lab" coll_run 2 1 -- sh -c '[ $HX_RANK = 1 ] && exit 3; exec sleep 50' || status=$?
    [ $status = 3 ]
}

beside() { # another lab lives and dies next to this one
    local status=0
    LAB_NAME=other$$ "$lab" up 1 && LAB_NAME=other$$ "$lab" exec 1 -- hostname || status=1
    LAB_NAME=other$$ "$lab" down && [ ! -e "/run/hierax-other$$" ] && on 1 hostname && return $status
}

killed() { # a host's holder dies, a process of the host stays: down finds it all the same
    local i
    on 2 sleep 4321.$$ &
    for ((i = 0; i < 100; i++)); do
        "$lab" ps 2 | grep -q " sleep 4321.$$" && break
        sleep 0.1
    done
    kill -KILL "$(cat "/run/hierax-$LAB_NAME/2.pid")"
    "$lab" down && ! grep -qz "^4321.$$" /proc/[0-9]*/cmdline 2>/dev/null
}

nothing_left() {
    [ ! -e "/run/hierax-$LAB_NAME" ] && [ "$(grep -c . /proc/mounts)" = "$mounts" ] && "$lab" down
}

refused() { # the first line of what it says, with status 2
    local status=0
    "$lab" "$@" 2>"$scratch/refusal" || status=$?
    head -n 1 "$scratch/refusal"
    [ $status = 2 ] && [ ! -e "/run/hierax-$LAB_NAME" ]
}

mounts=$(grep -c . /proc/mounts)
check "lab up no-number is refused" refused up many
check "lab up --rate no-number is refused" refused up 2 --rate many
check "lab exec without a lab is refused" refused exec 1 -- true
check "lab up" "$lab" up 4 --rate 400
prints "own host names" "ctl h1 h4" host_names
prints "own /dev/shm" "one two" own_shm
prints "own network devices" "eth0 lo" devices
check "rate limit" limited
prints "coll_run: who is where" "h1:0/4@10.99.0.1 h1:1/4@10.99.0.1 h2:2/4@10.99.0.1 h3:3/4@10.99.0.1" coll_ranks
prints "coll_run: cyclic" "h1:0 h2:1 h1:2 h2:3" coll_cyclic
check "coll_run: a failing rank ends the job" coll_failing
check "build an MPI program" mpi_build
check "mpirun over 4 hosts" "$lab" mpirun 4 2 -- "$scratch/mpi_hello"
check "build a PMIx program" pmix_build
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
prints "srun on each host" "h1 h2 h3 h4" "$lab" srun -N4 -n4 hostname
check "srun --mpi=pmi2" "$lab" srun --mpi=pmi2 -N4 -n8 "$here/pmi1_hello.sh"
check "srun --mpi=pmix" "$lab" srun --mpi=pmix -N4 -n8 "$scratch/pmix_hello"
check "another lab beside it" beside
check "lab down finds processes of a host whose holder died" killed
check "nothing is left" nothing_left
finish
