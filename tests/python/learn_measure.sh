#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hierax.learn measure: nothing is measured while the ranks of Gloo still load torch. The torch and the programs of this test are
# its own: torch loads slowly and leaves a file, and each benchmark looks whether all eight are there.
. "$(dirname "$0")/common.sh"
mkdir -p "$tmp/fake/torch"
cat >"$tmp/fake/torch/__init__.py" <<'END'
import os, time
rank = int(os.environ["RANK"])
time.sleep(0.2 + 0.1 * rank)
if os.environ.get("FAILS") == str(rank):
    raise SystemExit("no torch")
open(f"{os.environ['READY']}.{rank}", "w").close()
class ones:
    def __init__(self, n): pass
    def copy_(self, other): pass
empty = ones
END
cat >"$tmp/fake/torch/distributed.py" <<'END'
def init_process_group(backend, timeout): pass
barrier = destroy_process_group = lambda: None
def all_reduce(x): pass
END
mkdir "$tmp/fake/torch-2.6.0.dist-info"
printf 'Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\n' >"$tmp/fake/torch-2.6.0.dist-info/METADATA"
cat >"$tmp/coll_run" <<'END'
#!/bin/bash
[ "$(ls "$READY".? | wc -l)" = 8 ] || { echo "measured too early" >&2; exit 1; }
echo '{"library": "a library", "machine": "a test", "rows": [{"median_us": 5}]}'
END
chmod +x "$tmp/coll_run"
measure() {
    timeout --kill-after=5 60 env PYTHONPATH="$tmp/fake:$PYTHONPATH" READY="$tmp/ready" "$@" "$python" -m hierax.learn measure --max 4096 \
        --points "$tmp/points" --coll-run "$tmp/coll_run" --coll-bench "$tmp/coll_run" >"$tmp/out" 2>"$tmp/err"
}
measure || { fail "measure: exit $?"; cat "$tmp/err" >&2; }
[ "$(grep -c ' us$' "$tmp/out")" = 8 ] || { fail "not 2 sizes of 4 programs:"; cat "$tmp/out" >&2; }
has "$tmp/points" "PyTorch 2.6.0" "the notes"
measure FAILS=7 && fail "measure without a rank of Gloo"
has "$tmp/err" "a rank of Gloo has ended" "measure without a rank of Gloo"
finish
