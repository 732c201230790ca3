#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reports of real runs in a real browser: no message on the console, nothing wider than a phone, no text outside its plot, and the figures
# that the run has told otherwise are in it. gnuplot takes what is written for it. A run that is killed leaves a page.
. "$(dirname "$0")/../system/common.sh"
command -v chromium >/dev/null || { echo "skipped: no chromium (tools/setup tests)"; exit 77; }
command -v gnuplot >/dev/null || { echo "skipped: no gnuplot (tools/setup tests)"; exit 77; }
bench=$top_builddir/tests/tools/coll_bench
tune=$top_builddir/tools/coll_tune
report=$top_builddir/tools/coll_report
cd "$tmp" || exit 1
echo '{"library": "x", "rows": []}' >empty.json
"$report" empty.json --html empty.html 2>lacks || { echo "skipped: $(cat lacks)"; exit 77; }

# look PAGE: load it 400 and 1400 pixels wide; what the browser says is in console, what the page is like in seen
look() {
    cat >probe.html <<END
<!DOCTYPE html><meta charset="utf-8"><body><script>
let told = '', left = 2;
function outside(svg) { // texts that are cut off
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(t => {
        const r = t.getBoundingClientRect();
        return r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1;
    });
}
function measure(width, frame) {
    const page = frame.contentDocument, svgs = [...page.querySelectorAll('figure svg')];
    const small = svgs.filter(s => s.getBoundingClientRect().width < 300).length;
    const cut = svgs.flatMap(outside).map(t => t.textContent);
    told += 'width ' + width + ': needs ' + page.documentElement.scrollWidth + ', ' + svgs.length + ' plots, ' + small + ' small, ' +
        cut.length + ' texts cut off ' + cut.join('; ') + '\\n';
    if (--left == 0)
        document.body.innerText = told;
}
for (const width of [400, 1400]) {
    const frame = document.createElement('iframe');
    frame.style = 'border:0;height:900px;width:' + width + 'px';
    frame.onload = () => measure(width, frame);
    frame.src = '$1';
    document.body.append(frame);
}
</script>
END
    local try status
    for try in 1 2 3; do # a browser that does not come up, or loads no page, has said nothing about it
        status=0
        timeout -k 5 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile$try" \
            --allow-file-access-from-files --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$tmp/probe.html" \
            >dom 2>log </dev/null || status=$?
        grep CONSOLE log >console
        grep -oE 'width [0-9]+: [^<]*' dom >seen
        [ $status != 0 ] || [ ! -s seen ] || return 0
    done
    fail "chromium: exit $status"
    cat log >&2
}

# good PAGE PLOTS: it has so many plots, and nothing is wrong with it
good() {
    look "$1"
    [ ! -s console ] || { fail "$1: messages on the console"; cat console >&2; }
    for width in 400 1400; do
        grep -q "^width $width: needs $width, $2 plots, 0 small, 0 texts cut off" seen || { fail "$1 at $width pixels"; cat seen >&2; }
    done
}

# ---- what is looked for is found
cat >bad.html <<'END'
<!DOCTYPE html><html><body><div style="width:700px">wide</div><figure style="width:100px"><svg viewBox="0 0 100 20"><text x="90" y="15">cut off</text></svg></figure>
<script>console.warn("a warning"); nothing.there = 1;</script></body></html>
END
look bad.html
grep -q 'a warning' console && grep -q 'nothing is not defined' console || { fail "the console is not heard"; cat log >&2; }
grep -Eq '^width 400: needs 7[0-9][0-9], 1 plots, 1 small, 1 texts cut off' seen || { fail "a bad page is not seen"; cat seen dom >&2; }

# ---- coll_bench
"$run" -n 4 --nodes 2 -- "$bench" allreduce bcast barrier --max 256K --factor 8 --repetitions 20 --html bench.html --json bench.json --csv bench.csv \
    --gnuplot plots --svg plots >out 2>err || { fail "coll_bench: exit $?"; cat err >&2; }
good bench.html 4
median=$(head -n 1 bench.csv | tr , '\n' | grep -n '^median_us$' | cut -d: -f1)
[ "$(wc -l <bench.csv)" = 14 ] || { fail "not 6 sizes of two collectives, and a barrier"; cat bench.csv >&2; }
# awk rounds a double, as the tool does; the shell's printf would round 10.7915 the other way.
tail -n +2 bench.csv | awk -F, -v column="$median" '{ printf("%.3f\n", $column) }' | while read -r us; do
    grep -qF "<td class=\"r\">$us</td>" bench.html || echo "$us"
done >missing
[ ! -s missing ] || { fail "medians that are not on the page"; cat missing >&2; }
for text in 'coll_bench allreduce bcast barrier --max 256K' 'HX_NODES=2' '4 ranks on 2 nodes (emulated), at most 2 per node' "Linux $(uname -r)" 'lower bound'; do
    grep -qF -- "$text" bench.html || fail "the page does not tell: $text"
done
grep -q 'libfabric .* provider' bench.html || fail "the page does not tell the provider"
! grep -q HX_SECRET bench.html bench.json || fail "the job's secret is told"
! grep -Eiq '<script|<link [^>]*href="[^d]|(src|href)="?(https?:|//|file:)|@import|url\([^#]' bench.html || fail "the page is not self-contained"
! grep -q 'broken off' bench.html || fail "a complete run is called broken off"

# ---- the same from its JSON; gnuplot draws what was written for it
"$report" bench.json --html again.html || fail "coll_report: exit $?"
cmp bench.html again.html || fail "coll_report makes another page"
gnuplot plots.gp >out 2>&1 || fail "gnuplot: exit $?"
[ -s plots.pdf ] && [ ! -s out ] || { fail "gnuplot complains"; cat out >&2; }
for plot in allreduce-time allreduce-bandwidth bcast-time bcast-bandwidth; do
    grep -q '</svg>' plots-$plot.svg || fail "no plots-$plot.svg"
done

# ---- several runs side by side, and names that want to be more than text
sed 's/"hierax [0-9.]*"/"<b onload=alert(1)>\\"peer\\" \& co"/; s/"median_us": \([0-9]*\)/"median_us": 1\1/' bench.json >peer.json
"$report" bench.json peer.json bench.json --html peers.html || fail "coll_report of three: exit $?"
good peers.html 4
! grep -q '<b onload' peers.html || fail "a name is not escaped"
cp bench.json later.json
"$report" later.json bench.json --html change.html || fail "coll_report of two runs of one library: exit $?"
for name in later.json bench.json; do grep -q "hierax [0-9.]* ($name)" change.html || fail "two runs of one library are not told apart"; done

# ---- killed: there is a page all the same, and it says so
"$run" -n 2 -- "$bench" allreduce allgather --factor 2 --repetitions 2000 --html killed.html --json killed.json >out 2>err </dev/null &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ -s killed.json ] && break
    sleep 0.1
done
kill -TERM $pid
wait $pid
await_file killed.html 1
good killed.html "$(grep -c '<figure>' killed.html)"
grep -q 'broken off' killed.html || fail "a killed run is not called broken off"
"$report" killed.json --html killed2.html || fail "a killed run's JSON: exit $?"

# ---- coll_tune: the table's times, what was tried, what was left out and why
"$run" -n 4 --nodes 2 -- "$tune" --collectives allreduce,bcast,barrier --max 32K --factor 16 --budget 25s -o table.json --html tune.html --svg tune \
    --gnuplot tune >out 2>err || { fail "coll_tune: exit $?"; cat err >&2; }
good tune.html 4
sed -n 's/.*"us": \([0-9.]*\),.*/\1/p' table.json >times
[ "$(wc -l <times)" = 9 ] || { fail "not 4 sizes of two collectives, and a barrier"; cat table.json >&2; }
while read -r us; do
    awk -v us="$us" -F'<td class="r">' '{ for (i = 2; i <= NF; i++) if ($i + 0 - us < 0.0051 && us - ($i + 0) < 0.0051) found = 1 } END { exit !found }' tune.html ||
        fail "$us us is in the table, but not on the page"
done <times
for text in '9 points measured, 0 from the table, 0 missing' 'the default' 'time in the short run' 'coll_tune --collectives'; do
    grep -qF -- "$text" tune.html || fail "coll_tune's page does not tell: $text"
done
[ "$(grep -c '<details>' tune.html)" = 9 ] || fail "not every point tells what was tried"
"$run" -n 2 -- "$bench" allreduce --min 8 --max 16 --json one.json >out 2>err && "$run" -n 2 -- "$bench" allreduce bcast --min 64 --max 128 \
    --json $'two\xff.json' >out 2>err || { fail "coll_bench: exit $?"; cat err >&2; }
"$report" one.json $'two\xff.json' --gnuplot none >out 2>err || fail "coll_report: no size in common"
gnuplot none.gp >out 2>&1 || { fail "gnuplot, no size in common: exit $?"; cat out >&2; }
cp $'two\xff.json' two.json
"$report" two.json one.json --gnuplot lacking >out 2>err || fail "coll_report: a collective that the second lacks"
gnuplot lacking.gp >out 2>&1 && [ ! -s out ] || { fail "gnuplot, a collective that the second lacks"; cat out >&2; }
awk '/^# [0-9]*: / { if (head) exit 1; head = 1; next } NF { head = 0 } END { exit head }' lacking.dat || { fail "a curve of nothing, which gnuplot does not count"; cat lacking.dat >&2; }
python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' $'two\xff.json' || fail "--json is no UTF-8"
for other in plots.dat plots.gp; do
    "$run" -n 1 -- "$bench" allreduce --max 8 --gnuplot plots --csv $other >out 2>err && fail "--gnuplot and --csv both write $other"
    grep -q -- "--csv and --gnuplot both write to \"plots" err || { fail "$other is not named"; cat err >&2; }
done
gnuplot tune.gp >out 2>&1 || { fail "gnuplot, coll_tune's script: exit $?"; cat out >&2; }
grep -q '</svg>' tune-bcast-gain.svg || fail "no tune-bcast-gain.svg"
"$run" -n 2 -- "$tune" --collectives allreduce --max 8 --budget 1s -o table.json --html /no/such/folder/x >out 2>err && fail "unwritable: exit 0"
has err 'coll_tune: --html=/no/such/folder/x: cannot write' "coll_tune"
rm -f err # of the run before
"$run" -n 2 --kill-after 30 -- "$tune" --collectives allreduce,bcast --factor 2 --budget 10m -o broken.json --html broken.html >out 2>err </dev/null &
pid=$!
await_file err 3
kill -TERM $pid
wait $pid
await_file broken.html 1
good broken.html "$(grep -c '<figure>' broken.html)"
grep -q -- '--resume goes on' broken.html || fail "a broken-off run of coll_tune is called complete"
"$tune" check table.json --html x.html >out 2>err
[ $? = 2 ] && has err 'coll_tune check has no option --html' "check --html"

# ---- without what coll_report needs: what to install is said before anything is measured, and the figures are kept
mkdir bare none
printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >bare/python3 # -S: without packages
chmod +x bare/python3
lacks() { # FOLDER PACKAGES
    local status=0
    PATH=$1 "$run" -n 2 -- "$top_builddir/tools/coll_bench" allreduce --max 16 --html "$1.html" --svg "$1" >out 2>err || status=$?
    [ $status = 1 ] && [ ! -e "$1.html" ] || fail "without packages: exit $status"
    has err "cannot write --html=$1.html now: coll_report does not run here: install $2 (Debian's names). The numbers go to $1.html.json" "$1"
    has err "coll_bench: --html=$1.html was not written; $1.html.json has the data for coll_report" "$1, at the end"
    "$report" "$1.html.json" "--html=$1.html" && [ -s "$1.html" ] || fail "the figures that are kept make no report"
    PATH=$1 "$top_builddir/tools/coll_plan" draw allreduce --shape 2,2 -o "$1.svg" >out 2>err
    [ $? = 2 ] && [ ! -e "$1.svg" ] || fail "coll_plan draw without packages"
    has err "coll_plan: a picture needs coll_report: install $2 (Debian's names); or use --json instead" "coll_plan, $1"
}
if [ -x /usr/bin/python3 ]; then lacks bare 'python3-matplotlib and python3-jinja2'; fi
lacks none 'python3, python3-matplotlib and python3-jinja2'

# ---- bad documents
refuses() { # TEXT arguments...
    local text=$1 status=0
    shift
    "$report" "$@" >out 2>err || status=$?
    [ $status = 2 ] || fail "coll_report $*: exit $status, expected 2"
    [ "$(grep -c '^coll_report: ' err)" = 1 ] && [ "$(wc -l <err)" = 1 ] || { fail "coll_report $*: not one line"; cat err >&2; }
    has err "$text" "coll_report $*"
}
echo '{"library": "x", "rows": [{"collective": "a", "bytes": 8, "median_us": "<i>", "plan": 7}, 3]}' >odd.json
refuses 'a row has no "collective"' odd.json --html x.html
echo '{"library": "x", "rows": [{"collective": "a", "bytes": 8, "median_us": "<i>", "plan": 7}, {"collective": "a", "bytes": 1e300}]}' >odd.json
"$report" odd.json odd.json --html odd.html || fail "a poor document: exit $?"
head -c 300 bench.json >cut.json
refuses "cut.json:$(($(wc -l <cut.json) + 1)):" cut.json --html x.html
has err 'not JSON: it ends too early' "a part of a document"
refuses 'not JSON: it ends too early' /dev/null --html x.html
refuses '.: Is a directory' . --html x.html
refuses 'not a JSON document of coll_bench' /dev/stdin --html x.html <<<'[]'
refuses 'No such file' nowhere.json --html x.html
refuses 'did you mean --html?' bench.json --hmtl x.html
refuses 'nothing to write' bench.json
refuses 'no document given' --html x.html
refuses '--html=/no/such/folder/x: cannot write' bench.json --html /no/such/folder/x
[ ! -e x.html ] || fail "a refused report is written"
cp bench.json kept.json
refuses '--html=./kept.json: this file is a document to read' kept.json --html ./kept.json
cmp kept.json bench.json || fail "a document is overwritten by its report"
if [ -w /dev/full ]; then
    ln -s /dev/full full
    ! "$report" bench.json --html full 2>err || fail "a full disk: exit 0"
    has err 'coll_report: --html=full: No space left on device' "a full disk"
fi
"$report" bench.json --html - >stdout.html && cmp stdout.html bench.html || fail "--html -"
[ $failures = 0 ]
