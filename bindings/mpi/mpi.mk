# SPDX-License-Identifier: BSD-3-Clause
# libhierax-mpi: a library to preload, for each MPI that configure finds. It needs that MPI's library, so that a program finds the MPI's
# names which loads its MPI late (Python). `make` puts it into mpi/ of the build folder.
hxmpi_sources = bindings/mpi/blocking.c bindings/mpi/comms.c bindings/mpi/during.c bindings/mpi/everyone.c bindings/mpi/exchange.c bindings/mpi/exchange.h bindings/mpi/fold.c bindings/mpi/forms.h bindings/mpi/graphs.c bindings/mpi/graphs.h bindings/mpi/fortran.c \
    bindings/mpi/hxmpi.h bindings/mpi/inits.c bindings/mpi/inits_large.c bindings/mpi/large.c bindings/mpi/pool.c bindings/mpi/prepared.c bindings/mpi/side.c bindings/mpi/side.h bindings/mpi/start.c bindings/mpi/started.c bindings/mpi/started.h bindings/mpi/starts.c \
    bindings/mpi/starts_large.c bindings/mpi/stats.c bindings/mpi/types.c bindings/mpi/waits.c bindings/mpi/waits_during.c
hxmpi_cflags = $(HX_CFLAGS) -ftls-model=initial-exec
hxmpi_cppflags = -I$(top_srcdir)/runtime -I$(top_srcdir) -D_GNU_SOURCE= $(HX_CPPFLAGS)
EXTRA_DIST += bindings/mpi/README.md bindings/mpi/neighbors.c $(hxmpi_sources)

# libtool is left out, as for the modules of Python: it does not install into another prefix than that of configure.
hxmpi_link = $(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -Wl,-z,defs \
    -Wl,--whole-archive bindings/mpi/.libs/libhx$(1).a -Wl,--no-whole-archive -L.libs -lhierax $(2)
hxmpi_libraries =
if HAVE_OPENMPI
noinst_LTLIBRARIES += bindings/mpi/libhxopenmpi.la
bindings_mpi_libhxopenmpi_la_SOURCES = $(hxmpi_sources)
bindings_mpi_libhxopenmpi_la_CPPFLAGS = $(hxmpi_cppflags) $(OPENMPI_CFLAGS)
bindings_mpi_libhxopenmpi_la_CFLAGS = $(hxmpi_cflags)
hxmpi_libraries += mpi/libhierax-openmpi.so
all-local: mpi/libhierax-openmpi.so
install-exec-local: install-libhierax-openmpi
endif
if HAVE_MPICH
noinst_LTLIBRARIES += bindings/mpi/libhxmpich.la
bindings_mpi_libhxmpich_la_SOURCES = $(hxmpi_sources)
bindings_mpi_libhxmpich_la_CPPFLAGS = $(hxmpi_cppflags) $(MPICH_CFLAGS)
bindings_mpi_libhxmpich_la_CFLAGS = $(hxmpi_cflags)
hxmpi_libraries += mpi/libhierax-mpich.so
all-local: mpi/libhierax-mpich.so
install-exec-local: install-libhierax-mpich
endif
mpi/libhierax-openmpi.so: bindings/mpi/libhxopenmpi.la libhierax.la
	@$(MKDIR_P) mpi
	$(call hxmpi_link,openmpi,$(OPENMPI_LIBS)) -Wl,-rpath,$(abs_builddir)/.libs -o $@.tmp && mv -f $@.tmp $@
mpi/libhierax-mpich.so: bindings/mpi/libhxmpich.la libhierax.la
	@$(MKDIR_P) mpi
	$(call hxmpi_link,mpich,$(MPICH_LIBS)) -Wl,-rpath,$(abs_builddir)/.libs -o $@.tmp && mv -f $@.tmp $@
CLEANFILES += $(hxmpi_libraries)

# The installed library finds libhierax without LD_LIBRARY_PATH. The loader knows the folders in /usr/lib by itself.
hxmpi_rpath = $(if $(filter /usr/lib%,$(libdir)),,-Wl,-rpath,$(libdir))
install-libhierax-openmpi: mpi/libhierax-openmpi.so
	$(MKDIR_P) "$(DESTDIR)$(pkglibdir)"
	$(call hxmpi_link,openmpi,$(OPENMPI_LIBS)) $(hxmpi_rpath) -o "$(DESTDIR)$(pkglibdir)/libhierax-openmpi.so"
install-libhierax-mpich: mpi/libhierax-mpich.so
	$(MKDIR_P) "$(DESTDIR)$(pkglibdir)"
	$(call hxmpi_link,mpich,$(MPICH_LIBS)) $(hxmpi_rpath) -o "$(DESTDIR)$(pkglibdir)/libhierax-mpich.so"
hx_uninstalls += uninstall-mpi
uninstall-mpi:
	rm -f "$(DESTDIR)$(pkglibdir)"/libhierax-openmpi.so "$(DESTDIR)$(pkglibdir)"/libhierax-mpich.so
	rmdir "$(DESTDIR)$(pkglibdir)" 2>/dev/null || :
