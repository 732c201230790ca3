#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# pip builds the package in a venv against the installed library, without a network. What make install puts there works too.
. "$(dirname "$0")/common.sh"
for module in ensurepip pip setuptools wheel; do
    "$python" -c "import $module" 2>/dev/null ||
        skip "$python has no $module: apt-get install python3-venv python3-pip python3-setuptools python3-wheel"
done
unset PYTHONPATH
prefix=$tmp/usr
make -C "$top_builddir" install prefix="$prefix" exec_prefix="$prefix" >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log" >&2; fail "make install"; finish; }
sed -i "s|^prefix=.*|prefix=$prefix|; s|^exec_prefix=.*|exec_prefix=$prefix|" "$prefix/lib/pkgconfig/hierax.pc"

sum() { # WHAT PYTHON: two ranks add up
    job 2 1 "$2" -c 'import hierax; c = hierax.world(); c.allreduce(c.rank + 1) == 3 and c.rank and print(hierax.__file__)' &&
        [ -s "$tmp/out" ] || fail "$1: $(cat "$tmp/err")"
}

PYTHONPATH=$(cd "$prefix"/lib/python3*/*-packages && pwd) sum "make install" "$python"
has "$tmp/out" "$prefix/lib" "make install"

cp -r "$top_srcdir/bindings/python" "$tmp/source"
"$python" -m venv --system-site-packages --without-pip "$tmp/venv"
pip() {
    "$tmp/venv/bin/python" -m pip --disable-pip-version-check install --no-build-isolation --no-index --no-deps "$@" \
        >"$tmp/log" 2>&1
}
PKG_CONFIG_LIBDIR=/nowhere pip "$tmp/source" && fail "pip installs without the library"
has "$tmp/log" "pkg-config does not find the library" "pip without the library"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig pip "$tmp/source" || { tail -n 30 "$tmp/log" >&2; fail "pip install"; finish; }
sum "pip install" "$tmp/venv/bin/python"
has "$tmp/out" "$tmp/venv/lib" "pip install"
"$tmp/venv/bin/python" -m hierax.info | grep "^module .*$tmp/venv" >"$tmp/out" || fail "hierax.info of the venv"

# pip and make install the same files: templates and data of the pages too. Only make builds hierax.torch.
files() { (cd "$1/hierax" && find . -type f ! -name '*.pyc' ! -name '_native*' ! -path './torch/*' | sort); }
files "$prefix"/lib/python3*/*-packages >"$tmp/make"
files "$tmp"/venv/lib/python3*/site-packages >"$tmp/pip"
diff "$tmp/make" "$tmp/pip" >&2 || fail "make and pip install other files"
has "$tmp/pip" py.typed "the files"

(cd "$tmp/source" && "$tmp/venv/bin/python" -m hierax.info) >"$tmp/out" 2>&1 && fail "the source of the package runs"
has "$tmp/out" "$tmp/source/hierax has no extension module" "python in the folder of the source"

make -C "$top_builddir" uninstall prefix="$prefix" exec_prefix="$prefix" >"$tmp/log" 2>&1 || fail "make uninstall"
[ -z "$(find "$prefix" -path '*hierax*' -name '*.py')" ] || fail "make uninstall leaves files of Python"
finish
