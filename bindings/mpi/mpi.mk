# SPDX-License-Identifier: BSD-3-Clause
# libhierax-mpi: a library to preload, for each MPI whose compiler is here. It needs that MPI's library, so that a program finds the MPI's
# names which loads its MPI late (Python).
hxmpi_sources = bindings/mpi/blocking.c bindings/mpi/comms.c bindings/mpi/exchange.c bindings/mpi/exchange.h bindings/mpi/hxmpi.h \
    bindings/mpi/side.c bindings/mpi/side.h bindings/mpi/start.c bindings/mpi/stats.c bindings/mpi/types.c
hxmpi_cflags = $(HX_CFLAGS) -ftls-model=initial-exec
hxmpi_cppflags = -I$(top_srcdir)/runtime -D_GNU_SOURCE= $(HX_CPPFLAGS)
hxmpi_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared
EXTRA_DIST += bindings/mpi/README.md

if HAVE_OPENMPI
pkglib_LTLIBRARIES += libhierax-openmpi.la
libhierax_openmpi_la_SOURCES = $(hxmpi_sources)
libhierax_openmpi_la_CPPFLAGS = $(hxmpi_cppflags) $(OPENMPI_CFLAGS)
libhierax_openmpi_la_CFLAGS = $(hxmpi_cflags)
libhierax_openmpi_la_LDFLAGS = $(hxmpi_ldflags)
libhierax_openmpi_la_LIBADD = libhierax.la $(OPENMPI_LIBS)
endif
if HAVE_MPICH
pkglib_LTLIBRARIES += libhierax-mpich.la
libhierax_mpich_la_SOURCES = $(hxmpi_sources)
libhierax_mpich_la_CPPFLAGS = $(hxmpi_cppflags) $(MPICH_CFLAGS)
libhierax_mpich_la_CFLAGS = $(hxmpi_cflags)
libhierax_mpich_la_LDFLAGS = $(hxmpi_ldflags)
libhierax_mpich_la_LIBADD = libhierax.la $(MPICH_LIBS)
endif
EXTRA_DIST += $(hxmpi_sources)
