# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts of this folder: jobs of PyTorch, each under torchrun.
. "$(dirname "$0")/../../system/common.sh"
scripts=${top_srcdir:?run me by make check}/tests/python/torch
python=${PYTHON_OF_HIERAX:-/usr/bin/python3}
export PYTHONPATH=$top_builddir/python PYTHONDONTWRITEBYTECODE=1 PYTHONFAULTHANDLER=1

# Debian's PyTorch has no libuv, which the stores of torchrun ask for by themselves: it meets over a file instead, and its workers
# over a store of their own.
export USE_LIBUV=0 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore TORCH_CPP_LOG_LEVEL=ERROR

# torchrun N [OPTION...] SCRIPT [ARGUMENT...], with its output in $tmp/out
under_torchrun() {
    local n=$1 meeting
    shift
    meeting=$(mktemp -p "$tmp" meeting.XXXXXX)
    timeout --kill-after=5 200 "$python" -m torch.distributed.run --rdzv-backend=c10d --rdzv-endpoint="$meeting" \
        --rdzv-conf=store_type=file --rdzv-id=1 --local-addr=localhost --nproc-per-node "$n" "$@" >"$tmp/out" 2>&1
}

# ranks_of_torch N NODES SCRIPT [ARGUMENT...]: the job ends well. NODES: emulated nodes, 0 for one real one
ranks_of_torch() {
    local n=$1 nodes=$2 script=$3
    shift 3
    HX_NODES=$nodes under_torchrun "$n" "$scripts/$script" "$@" ||
        { fail "$script on $n ranks, HX_NODES=$nodes $*: exit $?"; grep -v '^W' "$tmp/out" | head -n 40 >&2; }
}
