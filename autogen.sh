#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make ./configure from a checkout.
set -e
cd "$(dirname "$0")"
missing=
command -v autoreconf >/dev/null || missing="$missing autoconf"
command -v automake >/dev/null || missing="$missing automake"
command -v libtoolize >/dev/null || missing="$missing libtool"
command -v pkg-config >/dev/null || missing="$missing pkg-config"
if [ -n "$missing" ]; then
    echo "autogen.sh: missing tools; on Debian or Ubuntu: apt-get install$missing" >&2
    exit 1
fi
mkdir -p m4
exec autoreconf -fi # force: configure takes the version from hierax.h, and autoconf's cache does not notice that it changed
