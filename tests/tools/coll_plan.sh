#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_plan: every plan is verified, large nodes keep their promises, algorithms send what their books say, bad input is named.
set -u
plan=${top_builddir:-build}/tools/coll_plan
tool=$plan
# shellcheck source=says.sh
. "$(dirname "$0")/says.sh"

size() { # BYTES
    local n=$1 unit=(B KiB MiB GiB) i=0
    for (( ; n > 0 && n % 1024 == 0 && i < 3; i++)); do n=$((n / 1024)); done
    echo "$n ${unit[i]}"
}

sends() { # COLLECTIVE ALGORITHM p MESSAGE-ROUNDS BYTES: of rank 0, for 1 MiB on p nodes of one rank
    local line
    line=$("$plan" explain "$1" --shape "$3x1" --size 1M --set "$6=$2" --set HX_CHUNK=64K | grep 'the plan  ')
    [ "$(awk '{print $3}' <<<"$line")" = "$4" ] || fault "$1 $2 on $3: rounds are not $4: $line"
    [ "$(awk '{print $6, $7}' <<<"$line")" = "$(size "$5")" ] || fault "$1 $2 on $3: bytes are not $5: $line"
}

ranks=${TEST_RANKS:-13} # 64: minutes
[ -n "${TEST_SANITIZER:-}" ] && ranks=8
"$plan" verify --all --max-ranks $ranks > "${TMPDIR:-/tmp}/coll_plan.$$" || fault "verify: $(grep FAILED "${TMPDIR:-/tmp}/coll_plan.$$" | head -3)"
tail -1 "${TMPDIR:-/tmp}/coll_plan.$$"
rm -f "${TMPDIR:-/tmp}/coll_plan.$$"

for shape in 4x96 16x96 64x192 384 4x384 2x512; do
    "$plan" big --shape $shape --size 64M || fault "big $shape"
done

M=1048576
sends allreduce ring 8 14 $((2 * M * 7 / 8)) HX_INTER_ALLREDUCE
sends allreduce mesh 8 2 $((2 * M * 7 / 8)) HX_INTER_ALLREDUCE
sends allreduce mesh_single 8 1 $((7 * M)) HX_INTER_ALLREDUCE
sends allreduce rdh 8 6 $((2 * M * 7 / 8)) HX_INTER_ALLREDUCE
sends allreduce recursive_doubling 8 3 $((3 * M)) HX_INTER_ALLREDUCE
sends allreduce circulant 8 6 $((2 * M * 7 / 8)) HX_INTER_ALLREDUCE
sends alltoall pairwise 8 7 $((M * 7 / 8)) HX_INTER_ALLTOALL
sends alltoall mesh 8 1 $((M * 7 / 8)) HX_INTER_ALLTOALL
sends alltoall bruck 8 3 $((M * 12 / 8)) HX_INTER_ALLTOALL
sends alltoall kbruck4 16 2 $((M * 24 / 16)) HX_INTER_ALLTOALL
sends allreduce kradix3 9 2 $((4 * M)) HX_INTER_ALLREDUCE
sends allreduce kradix2 8 3 $((3 * M)) HX_INTER_ALLREDUCE
sends reduce_scatter_block ring 8 7 $((M * 7 / 8)) HX_INTER_REDUCE_SCATTER
sends reduce_scatter_block mesh 8 1 $((M * 7 / 8)) HX_INTER_REDUCE_SCATTER
sends reduce_scatter_block rdh 8 3 $((M * 7 / 8)) HX_INTER_REDUCE_SCATTER
sends reduce_scatter_block circulant 8 3 $((M * 7 / 8)) HX_INTER_REDUCE_SCATTER
sends allgather ring 8 7 $((M * 7 / 8)) HX_INTER_ALLGATHER
sends allgather mesh 8 1 $((M * 7 / 8)) HX_INTER_ALLGATHER
sends allgather rdh 8 3 $((M * 7 / 8)) HX_INTER_ALLGATHER
sends allgather circulant 8 3 $((M * 7 / 8)) HX_INTER_ALLGATHER

sends scan recursive_doubling 8 3 $((3 * M)) HX_INTER_SCAN
sends exscan exclusive_dissemination 9 2 $((2 * M)) HX_INTER_EXSCAN # rank 0; the others send in a third and fourth round
sends exscan chain 8 1 $M HX_INTER_EXSCAN

says 'hier(nary,' 0 explain allreduce --shape 3,1,2 --size 1M
says 'reduce_scatter_block' 2 explain allredcue --shape 2,2
for name in all-reduce All_Reduce ALLREDUCE; do says 'allreduce of ' 0 explain $name --shape 2,2; done
says 'bcast of ' 0 explain broadcast --shape 2,2
says 'every plan needs a block per pair of ranks, and at most 46340 ranks are possible' 2 explain alltoall --shape 46341x1
says '3,,2' 2 explain allreduce --shape 3,,2
says 'ring' 2 explain allreduce --shape 2,2 --set HX_INTER_ALLREDUCE=rign
says '12Q' 2 explain allreduce --shape 2,2 --size 12Q
says 'did you mean explain?' 2 explian allreduce
says 'choices: explain cost draw compare verify steps big' 2
says 'explain takes one collective, one --shape' 2 explain allreduce
says 'did you mean shape?' 2 explain allreduce --shap 2,2 --shpae 2
says 'needs a value' 2 explain allreduce --shape
says 'coll_plan verify has no option --rank' 2 verify --rank 1
says 'is out of range: the last rank of --shape 2,2 is 3' 2 explain allreduce --shape 2,2 --rank 4
says 'did you mean HX_LANES?' 2 explain allreduce --shape 2,2 --set HX_LANE=2
says 'HX_LANES' 2 explain allreduce --shape 2,2 --set HX_LANES=many
says 'HX_LANES=1025: expected an integer from 0 to 1024' 2 explain allreduce --shape 2x1100 --set HX_LANES=1025
says 'hier(nary,mesh_single,nary) x1024' 0 explain allreduce --shape 2x1100 --set HX_LANES=1024 --size 64M
says 'did you mean float32?' 2 explain allreduce --shape 2,2 --dtype flaot32
says 'did you mean circulant?' 2 verify --algorithm circulent
says 'nothing to verify' 2 verify allgather --algorithm mesh_single --shape 3x1
says '18 passed, 0 failed' 0 verify allreduce --algorithm nary_sliced --shape 1 --shape 3 --shape 5
says 'hier(nary,mesh,apply) x1' 0 explain scan --shape 3,1,2 --size 8 --set HX_INTER_SCAN=mesh --set HX_INTRA_SCAN=nary
for sizes in 1000,mesh 65532,mesh 64K,rdh 1048572,rdh 1M,ring; do # by size; one without sizes is for the rest
    says "chosen: flat(${sizes#*,})" 0 explain allreduce --shape 2,2 --size ${sizes%,*} --set HX_ALLREDUCE=ring:1M-,rdh,mesh:-64K
done
says 'chosen: hier(nary,ring,nary)' 0 explain allreduce --shape 2,2 --size 4096 --set HX_ALLREDUCE=hier:-64K --set HX_INTER_ALLREDUCE=ring:4K-8K
says 'chosen: flat(rdh)' 0 explain allreduce --shape 2,2 --size 4096 --set 'HX_ALLREDUCE=flat(rdh):-64K,hier'
says 'flat(ring)' 0 explain allreduce --shape 2,2 --size 64K --set HX_ALLREDUCE=hier:-64K # free there
says 'a composed plan needs consecutive ranks on each node' 0 explain scan --shape 3,1,2:cyclic
says 'a composed plan needs consecutive ranks on each node' 0 explain exscan --shape 2,2:cyclic --set HX_EXSCAN=hier
says 'chosen: flat(chain)' 0 explain exscan --shape 2,2:cyclic --set HX_EXSCAN=chain
says 'chosen: flat(binomial) ordered' 0 explain reduce --ordered --shape 2,2:cyclic --root 3
says 'the operation is not commutative: a composed plan then needs consecutive ranks on each node' 0 explain allreduce --ordered --shape 3,1,2:cyclic
says 'chosen: hier(nary,kradix2,nary) x2 ordered' 0 explain allreduce --ordered --shape 8,7 --size 4M --set HX_LANES=2
says 'the settings do not apply' 0 explain allreduce --ordered --shape 3,1,2 --set HX_INTER_ALLREDUCE=ring
says 'this algorithm needs an exact operation, and this operation rounds' 0 explain allreduce --shape 3,1,2 --set HX_INTER_ALLREDUCE=exclusive_dissemination
says 'chosen: hier(nary,exclusive_dissemination,nary)' 0 explain allreduce --dtype int32 --shape 3,1,2 --set HX_INTER_ALLREDUCE=exclusive_dissemination
says 'the settings do not apply' 0 explain reduce --ordered --shape 3,1,2 --set HX_REDUCE=knomial
says 'inter ring, member 1 of 4 (ranks 0 4 2 5)' 0 explain allreduce --shape 2,2,1,3 --set HX_LANES=1 --set HX_INTER_ALLREDUCE=ring \
    --ring-order 0,2,1,3 --rank 4
says 'flat ring, member 3 of 5 (ranks 3 4 2 0 1)' 0 explain allgather --shape 2,1,2 --set HX_ALLGATHER=ring --set HX_LANES=1 --set HX_RING_ORDER=2,1,0
says 'chosen: hier(nary,mesh,nary) x8' 0 explain allreduce --shape 128x8 64M
says 'chosen: hier(nary,kangaring,nary) x8' 0 explain allreduce --shape 128x8 64M --set HX_NODE_GROUPS=16
says '8 groups of nodes (HX_NODE_GROUPS); uplink_taper 4 (default)' 0 explain allreduce --shape 128x8 64M --set HX_NODE_GROUPS=16
says '7 groups of nodes (HX_NODE_GROUPS); uplink_taper 2:' 0 cost bcast --shape 128x8 --set HX_NODE_GROUPS=20 --model uplink_taper=2
says 'uplink bytes' 0 cost bcast --shape 4x1 --set HX_NODE_GROUPS=2
says 'HX_NODE_GROUPS=2,1 for --shape 4x1: these groups have 3 nodes in all, but the job has 4' 2 cost bcast --shape 4x1 --set HX_NODE_GROUPS=2,1
says '2 passed, 0 failed' 0 big allreduce bcast --shape 4x96 --ring-order 0,2,1,3
says '0 passed, 0 failed' 0 big alltoallv --shape 1000x48
says 'none: it needs a block per pair of ranks, and at most 46340 ranks are possible' 0 big alltoallv --shape 1000x48
says 'ring order 0,1,1,3 for --shape 2,2,1,3: node 1 is named twice' 2 explain allreduce --shape 2,2,1,3 --ring-order 0,1,1,3
says 'ring order 0,1 for --shape 2,2,1,3: choose rank, auto, or an order of all 4 nodes: list each of 0 to 3 once' 2 verify --shape 2,2,1,3 --ring-order 0,1
says 'ring order auto is possible only in a job' 2 explain allreduce --shape 2,2,1,3 --ring-order auto
says '--ring-order 0,1: add --shape' 2 verify --ring-order 0,1
for algorithm in ring kangaring scatter_ring chain; do
    says ' 0 failed' 0 verify --algorithm $algorithm --shape 3,1,2,4:cyclic --ring-order 2,0,3,1
done
says '--max-ranks=0: expected a whole number from 1 to 512' 2 verify allreduce --max-ranks 0
says 'coll_plan verify has no option --ordered' 2 verify --ordered
says 'allreduce             flat(mesh) ordered' 0 verify allreduce --shape 4,4,3:cyclic --algorithm mesh
for bytes in 64 4K 256K 16M; do # 16-bit floats on one node
    for ranks in 2 3 8 96; do says 'roundings: at most 1,' 0 explain allreduce --dtype bfloat16 --shape $ranks --size $bytes; done
done
says 'roundings: at most 2,' 0 explain reduce_scatter_block --dtype float16 --shape 4,4,3 --set HX_INTER_REDUCE_SCATTER=mesh
says 'roundings: not counted for more than 256 ranks' 0 explain allreduce --shape 4x96 --dtype float16
says 'exclusive_dissemination' 2 explain scan --shape 2,2 --set HX_INTER_SCAN=ring
says 'of 0 B' 0 explain allgather --shape 3,1,2 --size 0
if [ -w /dev/full ]; then
    for option in --help --version; do
        "$tool" $option >/dev/full 2>/dev/null
        [ $? -eq 1 ] || fault "$option on a full disk: status is not 1"
    done
fi
exit $failed
