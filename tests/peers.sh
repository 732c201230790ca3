#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compare Hierax without a table with three peers: this machine's Open MPI (here), Debian 13's Open MPI (openmpi) and its MPICH (mpich).
# All are launched in turn. For each point, the ratio to the fastest peer is printed, and whether its 95 % interval lies above 1.
# --loops "cold warm" takes about 9 minutes on 2 cores, of which 4 ranks take 7; with --launches 9 it takes 27.
#   tests/peers.sh [OPTION VALUE]...
#     --loops "cold warm ahead"    of coll_bench. By default, ahead measures only bcast, of 8, 64 and 512 bytes
#     --collectives "NAME..."      default: all, without their forms with a count for each rank
#     --sizes BYTES,...            8,64,512,4K,32K,256K,2M,8M, of the whole vector, as in coll_bench --help
#     --ranks "N..."               2 4 (ahead: 4 8), all on this machine
#     --hosts "HxR..."             2x1, 4x2: between so many hosts, of so many ranks each, out of network namespaces (tests/lab). Needs root.
#                                  The only peer is this machine's Open MPI, over TCP; loops: cold warm
#     --peers "NAME..."            here openmpi mpich. With more ranks than cores MPICH takes milliseconds for a call: its ranks do not yield
#     --launches N                 of each side at each point (3)
#     --bench "OPTION..."          more options of coll_bench (with more ranks than cores: --repetitions 30, and 5 of one call for MPICH)
#     --csv FILE                   write every point and peer
#     --root DIR                   Debian 13 with the peers (build/debian13-peers); made if it is missing: this takes minutes
#     --prepare yes                make the root and build there, and measure nothing
# Debian 13 needs root; --peers here does not. All parts use one build of Hierax, that of this machine, in $top_builddir or ./build. Each MPI
# is its distribution's package, with that distribution's C library. coll_bench_mpi is built there from this checkout.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
build=$(readlink -m "${top_builddir:-$top/build}")
declare -A given=([launches]=3 [peers]="here openmpi mpich" [loops]="cold warm ahead" [root]=$build/debian13-peers)
all="barrier bcast reduce allreduce allgather reduce_scatter_block alltoall gather scatter scan exscan"
csv=$(mktemp -d)
trap 'rm -rf "$csv"' EXIT

die() {
    echo "peers.sh: $*" >&2
    exit 2
}

inside() { # COMMAND...: in the folder of the sources in the Debian 13; its mounts and processes end with it
    unshare --mount --pid --fork --kill-child "$BASH" "$top/tests/debian.sh" inside "$root" "$@"
}

# copy this checkout to the root, and build the benchmark there with both MPIs
prepare() {
    [ "$(id -u)" = 0 ] || die "root is needed for Debian 13; without root: --peers here"
    [ -e "$root" ] || "$top/tests/debian.sh" trixie "$root" true
    git -C "$top" ls-files -z | tar -C "$top" --null -T - -c | tar -x -C "$root/hierax"
    # shellcheck disable=SC2016
    inside sh -ec 'tools/setup >&2
        packages="openmpi-bin libopenmpi-dev mpich libmpich-dev"
        dpkg-query -s $packages >packages.out 2>&1 || {
            apt-get -qq update
            DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages
        } >packages.out 2>&1 || { tail -n 20 packages.out; exit 1; }
        [ -e configure ] || ./autogen.sh >/dev/null 2>&1
        for mpi in openmpi mpich; do
            mkdir -p build-$mpi
            cd build-$mpi
            [ -e Makefile ] || ../configure -q --with-mpicc=mpicc.$mpi >configure.out 2>&1 || { tail -n 5 configure.out; exit 1; }
            make -s -j2 tools/coll_bench_mpi >make.out 2>&1 || { tail -n 20 make.out; exit 1; }
            cd ..
        done' </dev/null >"$csv/told" || die "cannot build the peers in $root: $(cat "$csv/told")"
}

# HxR: as commands, on so many hosts of the lab
commands_hosts() {
    local fewer=""
    [ $((${1%x*} * ${1#*x})) -le "$(nproc)" ] || fewer=" --repetitions 30"
    command=([here]="$lab mpirun ${1%x*} ${1#*x} -- $build/tools/coll_bench_mpi$fewer")
    ours="$lab coll_run ${1%x*} ${1#*x} -- env HX_TABLE=none $build/tools/coll_bench$fewer"
}

# N: set the commands with which each side starts N ranks, one per core if there are enough cores
commands() {
    local openmpi="--bind-to core" mpich="-bind-to core" fewer="" fewest=""
    if [ "$1" -gt "$(nproc)" ]; then
        openmpi="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1" mpich="" fewer=" --repetitions 30"
        fewest=" --repetitions 5 --iterations 1 --warmup 1"
    fi
    [ "$(id -u)" != 0 ] || openmpi="--allow-run-as-root $openmpi"
    openmpi="mpirun.openmpi $openmpi --mca pml ob1 --mca btl"
    command=([here]="$openmpi self,vader -n {n} $build/tools/coll_bench_mpi$fewer"
        [openmpi]="$enter $openmpi self,sm -n {n} build-openmpi/tools/coll_bench_mpi$fewer"
        [mpich]="$enter mpiexec.mpich $mpich -n {n} build-mpich/tools/coll_bench_mpi$fewest")
    ours="HX_TABLE=none $build/tools/coll_run -n {n} -- $build/tools/coll_bench$fewer"
}

part() { # LOOP COLLECTIVES SIZES RANKS
    local loop=$1 collectives=${given[collectives]:-$2} sizes=${given[sizes]:-$3} n name
    local -a options
    for n in ${given[hosts]:-${given[ranks]:-$4}}; do
        "commands${given[hosts]:+_hosts}" "$n"
        options=(${given[bench]:+--bench "${given[bench]}"})
        [ "$loop" = cold ] || options+=("--$loop")
        [ -n "${given[hosts]:-}" ] || options+=(-n "$n")
        for name in ${given[peers]}; do
            options+=(--peer "$name=${command[$name]}")
        done
        echo "== $loop, $n ${given[hosts]:+hosts x }ranks"
        # shellcheck disable=SC2086
        "$top/tools/coll_compare" $collectives --sizes "$sizes" --rounds "${given[launches]}" "${options[@]}" \
            --csv "$csv/$loop.$n.csv" --ours "$ours"
    done
}

# LOOP: the mean ratio to the best peer, over all its points and numbers of ranks
summary() {
    awk -F, -v loop="$1" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["best"] == 1 { n++; sum += log($at["ratio"]); above += $at["ratio"] > 1; slower += $at["low95"] > 1 }
        END { printf "%s: geometric mean against the best peer of each point %.3f; of %d points %d have a ratio above 1, and %d of these an interval above 1\n",
            loop, exp(sum / n), n, above, slower }' \
        "$csv/$1".*.csv
}

while [ $# -gt 0 ]; do
    case $1 in
        --loops | --collectives | --sizes | --ranks | --hosts | --peers | --launches | --bench | --csv | --root | --prepare) ;;
        *) die "unknown option \"$1\"; choices: --loops --collectives --sizes --ranks --hosts --peers --launches --bench --csv --root --prepare" ;;
    esac
    [ $# -ge 2 ] || die "$1 needs a value"
    given[${1#--}]=$2
    shift 2
done
for loop in ${given[loops]}; do
    case $loop in cold | warm | ahead) ;; *) die "unknown loop \"$loop\"; choices: cold warm ahead" ;; esac
done
for name in ${given[peers]}; do
    case $name in here | openmpi | mpich) ;; *) die "unknown peer \"$name\"; choices: here openmpi mpich" ;; esac
done
if [ -n "${given[hosts]:-}" ]; then
    [ "${given[loops]}" != "cold warm ahead" ] || given[loops]="cold warm"
    [ "${given[peers]}" != "here openmpi mpich" ] || given[peers]=here
    [ "${given[peers]}" = here ] || die "--hosts has the peer \"here\" only, not \"${given[peers]}\""
    [ "${given[loops]}" = "${given[loops]/ahead/}" ] || die "--hosts has the loops cold and warm, not ahead"
    most=0
    for n in ${given[hosts]}; do
        [[ $n =~ ^[1-9][0-9]*x[1-9][0-9]*$ ]] || die "--hosts \"$n\": expected HOSTSxRANKS, as in 2x1"
        [ "${n%x*}" -le "$most" ] || most=${n%x*}
    done
fi
root=$(readlink -m "${given[root]}")
[ -x "$build/tools/coll_bench_mpi" ] || die "$build/tools/coll_bench_mpi is missing: install Open MPI, then configure and make"
[ "${given[peers]}" = here ] || prepare
[ -z "${given[prepare]:-}" ] || exit 0
enter="unshare --mount --pid --fork --kill-child $BASH $top/tests/debian.sh inside $root"
declare -A command
if [ -n "${given[hosts]:-}" ]; then
    export LAB_NAME=peers$$
    lab=$top/tests/lab/lab
    "$lab" up "$most"
    trap '"$lab" down; rm -rf "$csv"' EXIT
fi
for loop in ${given[loops]}; do
    case $loop in
        ahead) part ahead bcast 8,64,512 "4 8" ;;
        *) part "$loop" "$all" 8,64,512,4K,32K,256K,2M,8M "2 4" ;;
    esac
done
for loop in ${given[loops]}; do
    summary "$loop"
done
[ -z "${given[csv]:-}" ] || awk 'FNR > 1 || NR == 1' "$csv"/*.csv >"${given[csv]}"
