# SPDX-License-Identifier: BSD-3-Clause
# Tests of libhierax-mpi: programs of each MPI whose compiler is here.
EXTRA_DIST += tests/mpi/alike.c tests/mpi/alike.sh
hxmpi_programs =
if HAVE_OPENMPI
hxmpi_programs += tests/mpi/alike-openmpi
tests/mpi/alike-openmpi: tests/mpi/alike.c
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(OPENMPI_CC) -O1 -g -o $@ $(srcdir)/tests/mpi/alike.c
endif
if HAVE_MPICH
hxmpi_programs += tests/mpi/alike-mpich
tests/mpi/alike-mpich: tests/mpi/alike.c
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(MPICH_CC) -O1 -g -o $@ $(srcdir)/tests/mpi/alike.c
endif
check_DATA = $(hxmpi_programs)
CLEANFILES += $(hxmpi_programs)
dist_tests_list += tests/mpi/alike.sh
