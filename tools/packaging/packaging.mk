# SPDX-License-Identifier: BSD-3-Clause
# What other build systems and distributions need. The CMake package knows only relative paths: an installed tree can be moved.
cmakedir = $(libdir)/cmake/Hierax
cmake_DATA = HieraxConfig.cmake HieraxConfigVersion.cmake
CLEANFILES += $(cmake_DATA)
$(cmake_DATA): %.cmake: $(srcdir)/tools/packaging/cmake/%.cmake.in config.status
	$(AM_V_GEN)sed -e 's|@version@|$(PACKAGE_VERSION)|' -e 's|@libs@|$(HX_LIBRARY_LIBS) -pthread|' \
	    -e "s|@include_dir@|`realpath -ms --relative-to='$(cmakedir)' '$(includedir)'`|" $< >$@.tmp && mv -f $@.tmp $@
EXTRA_DIST += tools/packaging/cmake tools/packaging/container tools/packaging/deb tools/packaging/debian tools/packaging/spack \
    tools/packaging/README.md tests/packages tests/packages.sh
