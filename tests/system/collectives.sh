#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every collective, type, operation and count on many shapes, then every algorithm forced by name, against a sequential reference.
. "$(dirname "$0")/common.sh"

# same_bits N NODES [X=Y...]: two runs give one hash
same_bits() {
    local i
    : >"$tmp/hashes"
    for i in 1 2; do
        passes collectives "$1" "$2" bits "${@:3}"
        cat "$tmp/out" >>"$tmp/hashes"
    done
    [ "$(sort -u "$tmp/hashes" | wc -l)" = 1 ] || fail "-n $1 --nodes $2 ${*:3}: sums differ from run to run"
}

# nth N COLLECTIVE SCOPE: the N-th algorithm of the table, again from its start when it is shorter
nth() {
    local names
    mapfile -t names < <(awk -v c="$2" -v s="$3" '$1 == c && $2 == s { print $3 }' "$tmp/names")
    echo "${names[$1 % ${#names[@]}]}"
}

# forced PREFIX N SCOPE: of each collective, the setting that forces the N-th algorithm
forced() {
    local id name
    while read -r id name; do
        echo "HX_$1$id=$(nth "$2" "$name" "$3")"
    done <"$tmp/rows"
}

sed -n 's/^HX_COLL(\([A-Z_]*\), \([a-z_]*\),.*/\1 \2/p' "$top_srcdir/runtime/base/coll.def" >"$tmp/rows"
"$here/collectives" names >"$tmp/names" || fail "names"
"$run" -n 2 --env HX_INTRA_BCAST=single_copy -- "$top_builddir/tests/tools/coll_bench" bcast --max 8 >"$tmp/single" 2>&1 ||
    { has "$tmp/single" "ranks cannot read each other's memory" 'single copy' && sed -i '/ single_copy/d' "$tmp/names"; }

# longest SCOPE: rows of the longest table
longest() { awk -v s="$1" '$2 == s { n[$1]++ } END { for (k in n) if (n[k] > m) m = n[k]; print m }' "$tmp/names"; }

shapes="1:1 2:1 3:1 4:1 8:1 4:2 5:2 6:3,1,2 5:5"
[ -z "${TEST_SANITIZER:-}" ] || shapes="1:1 3:1 6:3,1,2 3:3" # slow
for shape in $shapes; do
    passes collectives "${shape%:*}" "${shape#*:}" counts
done
for shape in 3:1 6:3,1,2; do
    passes collectives "${shape%:*}" "${shape#*:}" counts HX_TURNS=4
done
[ -n "${TEST_SANITIZER:-}" ] || for shape in 1:1 3:1 5:2 5:5; do
    [ $shape = 5:5 ] || passes collectives "${shape%:*}" "${shape#*:}" types # what adds up is the same as of 5:2
    same_bits "${shape%:*}" "${shape#*:}"
done

for ((i = 0; i < $(longest intra); i++)); do
    mapfile -t intra < <(forced INTRA_ $i intra)
    mapfile -t inter < <(forced INTER_ $i inter)
    passes collectives 5 5/2 short "${intra[@]}" HX_CHECK=1
    passes collectives 7 3/2,2,2 short "${intra[@]}" "${inter[@]}" HX_LANES=3 HX_SLICE=4K HX_CHUNK=4K HX_RING_ORDER=1,0,2
    [ $i -lt "$(longest inter)" ] || continue
    mapfile -t flat < <(forced "" $i flat)
    passes collectives 6 3 short "${inter[@]}" HX_LANES=$((i % 3 + 1)) HX_CHECK=1
    passes collectives 5 3 short "${flat[@]}" HX_CHUNK=4K HX_RING_ORDER=2,1,0
done
for shape in 1:1 3:1 4:2 5:5; do
    passes collectives "${shape%:*}" "${shape#*:}" ahead
done
for n in 2 4 8; do
    passes collectives $n 1 short_blocks HX_TIMEOUT=10
done
for groups in 2 1,3; do # all ranks choose alike
    passes collectives 8 4 short HX_NODE_GROUPS=$groups HX_CHECK=1
done
passes collectives 4 1 ahead HX_BCAST=nary HX_ALLGATHER=mesh
for lanes in 1 2 3; do
    passes collectives 6 2 short HX_LANES=$lanes HX_SLICE=4K HX_CHUNK=4K
    passes collectives 5 2 short HX_LANES=$lanes HX_ALLREDUCE=ring HX_REDUCE_SCATTER=ring HX_ALLGATHER=ring HX_CHUNK=4K
done
passes collectives 6 3,1,2 counts HX_ALLTOALLV=hier HX_LANES=3 HX_CHECK=1 # some ranks alone, others carrying several lanes
passes collectives 5 2 counts HX_LANES=2 HX_SLICE=4K HX_CHUNK=4K
levels=(HX_INTRA_ALLREDUCE=nary_levels HX_INTRA_REDUCE_SCATTER=nary_levels HX_INTRA_ALLGATHER=nary_levels
    HX_INTRA_BCAST=nary_levels HX_INTRA_REDUCE=nary_levels)
passes collectives 8 8/2/2 short "${levels[@]}" HX_CHECK=1
passes collectives 6 4/2,2 short "${levels[@]}" HX_LANES=2
passes collectives 7 4 short HX_RING_ORDER=auto HX_INTER_ALLREDUCE=ring HX_INTER_ALLGATHER=ring HX_INTER_BCAST=chain HX_CHECK=1
finish
