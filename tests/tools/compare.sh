#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_compare on commands with known figures: order of launches, ratios, spread, limits, bad input.
set -uo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3 (apt-get install python3)"; exit 77; }
compare="python3 $top_srcdir/tools/coll_compare"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0
fail() { echo "FAIL: $*" >&2; failures=$((failures + 1)); }

# side NAME FIGURE...: a benchmark whose k-th launch takes the k-th figure at 8 bytes and 10 us at 64
side() {
    local name=$1
    shift
    echo "$*" >"$tmp/$name.figures"
    cat >"$tmp/$name" <<END
#!/bin/sh
echo "$name \$*" >>"$tmp/order"
k=\$(grep -c "^$name " "$tmp/order")
echo "a line before the table"
case " \$* " in *" --warm "*) loop=warm ;; *) loop=cold ;; esac
echo "library,collective,bytes,median_us,loop"
echo "\"lib $name\",allreduce,8,\$(cut -d' ' -f\$k "$tmp/$name.figures"),\$loop"
echo "\"lib $name\",allreduce,64,10,\$loop"
END
    chmod +x "$tmp/$name"
    rm -f "$tmp/order"
}

# run STATUS OPTION...
run() {
    local expected=$1 status=0
    shift
    rm -f "$tmp/order"
    $compare --ours "$tmp/a" --theirs "$tmp/b" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ $status = "$expected" ] || { fail "$*: exit $status, expected $expected"; cat "$tmp/out" "$tmp/err" >&2; }
}

side a 1 2 3
side b 2 8 4
run 0 allreduce --rounds 3 --max 64 --csv "$tmp/csv" --max-ratio 8=0.5 --max-ratio allreduce:64=1
[ "$(cut -c1 "$tmp/order" | tr -d '\n')" = abbaab ] || fail "launches do not alternate: $(cat "$tmp/order")"
grep -q -- '--min 8 --max 64 --factor 2' "$tmp/order" || fail "sizes are not passed on"
# ratios 0.5 0.25 0.75: median 0.5
grep -Eq '^allreduce +8 B +2\.000 +4\.000 +0\.500 +0\.250 \.\. 0\.750$' "$tmp/out" ||
    { fail "ratio"; cat "$tmp/out" >&2; }
grep -Eq '^allreduce +geometric mean +0\.707$' "$tmp/out" || { fail "geometric mean"; cat "$tmp/out" >&2; }
grep -q '^allreduce,8,2.0000,4.0000,0.5000,0.2500,0.7500,3,lib a,lib b' "$tmp/csv" ||
    { fail "csv"; cat "$tmp/csv" >&2; }

run 1 --rounds 3 --max 64 --max-ratio 8=0.49
grep -q 'allreduce, 8 B: ratio 0.500 is above 0.49' "$tmp/err" || fail "no limit named"
run 1 --rounds 3 --max 64 --max-ratio 4K=1
grep -q '4 KiB: no such size was measured' "$tmp/err" || fail "a limit on nothing holds"
run 2 --max-ratio 8
grep -q 'expected \[COLLECTIVE:\]SIZE=RATIO' "$tmp/err" || fail "bad limit accepted"
for bad in 8=nan 8=0 8=-1 8=inf; do
    run 2 --max-ratio $bad
    grep -q 'expected \[COLLECTIVE:\]SIZE=RATIO' "$tmp/err" || fail "--max-ratio $bad is accepted"
done
run 2 bcast allreduce --max-ratio alreduce:8=1
grep -q 'max-ratio: "alreduce" is not measured; choices: bcast allreduce' "$tmp/err" || fail "a limit on another collective is accepted"
run 0 allreduce --rounds 3 --max 64 --max-ratio all-reduce:8=0.5 --bench --check
sed -i 's/,allreduce,/,bcast,/' "$tmp/a" "$tmp/b"
run 0 broadcast --rounds 3 --max 64 --max-ratio broadcast:8=0.5 --max-ratio bcast:64=1
sed -i 's/,bcast,/,allreduce,/' "$tmp/a" "$tmp/b"
run 2 --bench "--dtype 'int32"
grep -q -e "--bench=--dtype 'int32: No closing quotation" "$tmp/err" || fail "half a quotation: $(cat "$tmp/err")"
run 2 --bench '--check --json x'
grep -q -e '--json would make all sides write the same file' "$tmp/err" || fail "both sides are to write one file"
run 2 --min 64 --max 8
run 2 --rounds 0
for path in /no/such/folder/x "$tmp"; do
    run 2 --csv "$path"
    grep -q "csv=$path: cannot write" "$tmp/err" || fail "unwritable --csv $path"
done
run 2 --csv "$tmp/same" --html "$tmp/same"
grep -q "csv and --html both write to \"$tmp/same\"" "$tmp/err" || fail "one file for two forms is accepted"
run 2 --csv "$tmp/same" --html "$tmp/./same"
grep -q "csv and --html both write to \"$tmp/./same\"" "$tmp/err" || fail "one file by two names is accepted"
[ ! -e "$tmp/same" ] || fail "a refused run leaves a file"
$compare --version | grep -qE '^coll_compare [0-9.]+' || fail "no --version"
run 2 --ruonds 3
grep -q 'unknown option "--ruonds" (did you mean --rounds?); choices: .*--max-ratio' "$tmp/err" || fail "no near option"
[ ! -e "$tmp/order" ] || fail "launched before --csv was looked at"

# several peers: the order of rounds, the best peer of each size, and the interval of the ratios to it, by Student's t
side a 2 2.2 1.8
side b 4 4.4 3.6
side c 1 1.2 1
sed -i '/,64,10,/s/10/20/' "$tmp/c"
peers() { # STATUS OPTION...
    local expected=$1 status=0
    shift
    rm -f "$tmp/order"
    $compare --ours "$tmp/a" --peer first="$tmp/b -n {n}" --peer second="$tmp/c" --max 64 --rounds 3 -n 5 "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ $status = "$expected" ] || { fail "peers $*: exit $status, expected $expected"; cat "$tmp/out" "$tmp/err" >&2; }
}
peers 0 --warm --csv "$tmp/peers.csv" --html "$tmp/page.html" --max-ratio 64=1
[ "$(cut -c1 "$tmp/order" | tr -d '\n')" = abccbaabc ] && grep -q '^b -n 5 allreduce .* --warm --csv -$' "$tmp/order" || fail "peers: launches: $(cat "$tmp/order")"
# ratios to second 2, 1.8333, 1.8: mean of logarithms 0.629 +- 4.303 x 0.0563 / sqrt 3
grep -Eq '^allreduce +8 B +2\.000 +4\.000 +0\.500 +1\.000 +1\.833 +second +1\.833 +1\.631 \.\. 2\.157   above 1$' "$tmp/out" &&
    grep -Eq '^allreduce +64 B +10\.000 +10\.000 +1\.000 +20\.000 +0\.500 +first +1\.000 ' "$tmp/out" &&
    grep -Eq '^geometric mean against first +0\.707$' "$tmp/out" && grep -Eq '^geometric mean against the best peer +1\.354$' "$tmp/out" &&
    grep -q '^slower: allreduce, 8 B: 1.833 (1.631 .. 2.157) against second$' "$tmp/out" && grep -q '^1 of 2 sizes are slower' "$tmp/out" &&
    grep -q '^# ours: lib a   first: lib b   second: lib c   warm loop; 3 launches each' "$tmp/out" || { fail "peers"; cat "$tmp/out" >&2; }
grep -q '^allreduce,8,2.0000,1.0000,1.8333,1.8000,2.0000,3,lib a,lib c,1.63[0-9]*,2.15[0-9]*,second,1,,warm$' "$tmp/peers.csv" && [ "$(wc -l <"$tmp/peers.csv")" = 5 ] ||
    { fail "peers: csv"; cat "$tmp/peers.csv" >&2; }
grep -q 'lib a against first (lib b) and others' "$tmp/page.html" || fail "peers: no page"
peers 1 --max-ratio 8=1.8
peers 2 --theirs x
grep -q -- '--theirs and --peer both name the other side' "$tmp/err" || fail "two kinds of other sides"
peers 2 --peer first=x
grep -q -- '--peer=first: the name is given twice' "$tmp/err" || fail "two peers of one name"
peers 2 --peer x
grep -q 'expected NAME=COMMAND' "$tmp/err" || fail "a peer without a command"
run 2 --warm --ahead
grep -q -- '--warm and --ahead exclude each other' "$tmp/err" || fail "two loops"
run 2 --sizes 8,64 --max 64
grep -q -- '--sizes and --min, --max or --factor both' "$tmp/err" || fail "sizes and a range"
side a 1
side b 2
run 0 --rounds 1 --ahead --sizes 8,64
grep -q -- "allreduce --sizes 8,64 --ahead --csv -" "$tmp/order" || fail "sizes and loop are not passed on"
side a 1 2 3
side b 2 8 4

"$top_srcdir/tests/peers.sh" --lops warm >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'unknown option "--lops"; choices: --loops ' "$tmp/out" || fail "peers.sh: no choices of options"
"$top_srcdir/tests/peers.sh" --loops hot >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'unknown loop "hot"; choices: cold warm ahead' "$tmp/out" || fail "peers.sh: no choices of loops"
"$top_srcdir/tests/peers.sh" --hosts 2y >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q -- '--hosts "2y": expected HOSTSxRANKS, as in 2x1' "$tmp/out" || fail "peers.sh: no form of hosts"

# the report has both sides' figures, their ratio and its spread
run 0 --rounds 3 --max 64 --html "$tmp/page.html" --gnuplot "$tmp/plots" --svg "$tmp/plots"
for text in '<td class="r">2.000</td><td class="r">4.000</td><td class="r">0.500</td><td class="l">0.250 .. 0.750</td>' 'lib a against lib b' \
    "$tmp/b allreduce --min 8 --max 64" '3 of each, in turn'; do
    grep -qF -- "$text" "$tmp/page.html" || fail "the page has no $text"
done
grep -q '^ 8 0.5 0.25 0.75$' "$tmp/plots.dat" || { fail "values for gnuplot"; cat "$tmp/plots.dat" >&2; }
grep -q 'values index 2 ' "$tmp/plots.gp" && grep -q '</svg>' "$tmp/plots-allreduce-ratio.svg" || fail "no plots"
for option in html gnuplot svg; do
    run 2 --$option /no/such/folder/x
    grep -q "$option=/no/such/folder/x.*: cannot write" "$tmp/err" || fail "unwritable --$option"
done
[ ! -e "$tmp/order" ] || fail "launched before --html was looked at"

# -: standard output, in place of the table
run 0 --rounds 3 --max 64 --csv -
cmp "$tmp/out" "$tmp/csv" || fail "--csv - is not what --csv FILE is"
run 0 --rounds 3 --max 64 --html -
head -n 1 "$tmp/out" | grep -q '^<!DOCTYPE html>' && tail -n 1 "$tmp/out" | grep -q '</html>' || fail "--html - is no page"
! rm ./- 2>"$tmp/err" || fail "a file named -"

# interrupted in the fourth round: the three complete ones are reported everywhere, and the exit status tells the signal
side a 1 2 3 4 5
side b 2 8 4 4 5
sed "2a [ \$(cat '$tmp/order' 2>/dev/null | wc -l) -lt 7 ] || { : >'$tmp/waits'; exec sleep 60; }" -i "$tmp/b" # of abbaaba: the next
for signal in INT TERM; do
    rm -f "$tmp/order" "$tmp/waits" "$tmp/csv" "$tmp/page.html"
    env --default-signal=INT $compare --ours "$tmp/a" --theirs "$tmp/b" --rounds 50 --max 64 --csv "$tmp/csv" --html "$tmp/page.html" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    for ((i = 0; i < 300; i++)); do [ ! -e "$tmp/waits" ] || break; sleep 0.1; done
    kill -s $signal $pid
    wait $pid
    status=$?
    [ $status = $((128 + $(kill -l $signal))) ] || { fail "SIG$signal: exit $status"; cat "$tmp/err" >&2; }
    grep -q 'interrupted after 3 of 50 rounds' "$tmp/err" || { fail "SIG$signal is not told"; cat "$tmp/err" >&2; }
    grep -q ' 3 launches each' "$tmp/out" && grep -q ',0.7500,3,lib a,lib b' "$tmp/csv" && grep -q '3 of each, in turn' "$tmp/page.html" ||
        { fail "SIG$signal: not 3 launches"; cat "$tmp/out" "$tmp/csv" >&2; }
done

# an installed copy, which has no coll_bench_mpi beside it
mkdir "$tmp/bin" "$tmp/empty"
cp "$top_srcdir/tools/coll_compare" "$tmp/bin"
printf '#!/bin/sh\n' >"$tmp/bin/mpirun"
chmod +x "$tmp/bin/mpirun"
says() { # PATH TEXT: it refuses to run
    local status=0
    (cd "$tmp/empty" && PATH=$1 "$python" "$tmp/bin/coll_compare") >"$tmp/out" 2>"$tmp/err" || status=$?
    [ $status = 2 ] && grep -qF "$2" "$tmp/err" || { fail "no \"$2\": exit $status"; cat "$tmp/err" >&2; }
}
python=$(python3 -c 'import sys; print(sys.executable)')
says "$tmp/empty" "mpirun is missing (looked for it in PATH)"
says "$tmp/bin" "coll_bench_mpi is missing (looked for it in $tmp/bin, tools, build/tools and PATH)"

run 2 --gnuplot ""
grep -q -- '--gnuplot=: expected the prefix' "$tmp/err" || fail "an empty prefix is accepted"
run 2 --svg -
grep -q -- '--svg=-: expected the prefix' "$tmp/err" || fail "plots to standard output are accepted"
run 2 --csv - --html -
grep -q -- 'csv and --html both write to "-"' "$tmp/err" || fail "standard output for two forms is accepted"
if [ -w /dev/full ]; then
    side a 1
    side b 2
    for option in "--rounds 1 --max 64" --help; do
        status=0
        # shellcheck disable=SC2086
        $compare --ours "$tmp/a" --theirs "$tmp/b" $option >/dev/full 2>"$tmp/err" || status=$?
        [ "$status $(cat "$tmp/err")" = "1 coll_compare: standard output: No space left on device" ] || { fail "$option on a full disk: exit $status"; cat "$tmp/err" >&2; }
    done
fi

printf '#!/bin/sh\necho broken >&2\nexit 3\n' >"$tmp/b"
run 1 --rounds 1
grep -q 'exit status 3 of' "$tmp/err" || fail "a failed launch is not named"
[ $failures = 0 ]
