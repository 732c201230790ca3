# SPDX-License-Identifier: BSD-3-Clause
"""Builds the extension module against the installed library, which pkg-config finds."""
import glob
import subprocess
import sys

from setuptools import Extension, setup


def pkg_config(*options):
    try:
        return subprocess.run(["pkg-config", *options, "hierax"], check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit("hierax: pkg-config does not find the library (hierax.pc): install it first, with `make install` or the package "
                 f"libhierax-dev. If it is not in /usr, set PKG_CONFIG_PATH. {getattr(error, 'stderr', None) or error}")


libdir = pkg_config("--variable=libdir")[0]
setup(
    version=pkg_config("--modversion")[0],
    ext_modules=[Extension(
        "hierax._native", sorted(glob.glob("native/*.c")), depends=glob.glob("native/*.[hd]*"),
        define_macros=[("_GNU_SOURCE", "")],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden", *pkg_config("--cflags")],
        extra_link_args=pkg_config("--libs") + ([] if libdir.startswith("/usr/lib") else [f"-Wl,-rpath,{libdir}"]),
    )],
)
