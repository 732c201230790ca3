# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For scripts that try what one tool says: they set `tool` and source this. $tmp is a folder of the script's own. At their end they exit with $failed.
failed=0
unset COLUMNS # tools fold to it
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fault() {
    echo "FAILED: $*"
    failed=1
}

says() { # TEXT STATUS arguments...: exits with STATUS and prints TEXT
    local text=$1 status=$2 got name=${tool##*/}
    shift 2
    got=$("$tool" "$@" 2>&1)
    [ $? -eq "$status" ] || fault "$name $*: status is not $status"
    grep -qF -- "$text" <<<"$got" || fault "$name $*: does not say '$text' but: ${got:0:400}"
}
