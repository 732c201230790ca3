# SPDX-License-Identifier: BSD-3-Clause
# Tests of libhierax-mpi: programs of each MPI whose compiler is here.
EXTRA_DIST += tests/mpi/alike.c tests/mpi/hard.c tests/mpi/lifetimes.c tests/mpi/overhead.c tests/mpi/requests.c tests/mpi/waits.c \
    tests/mpi/forms.h tests/mpi/parts.h tests/mpi/jobs.sh tests/mpi/local_calls.txt tests/mpi/fortran.f90
hxmpi_programs =
hxmpi_compile = -O2 -g -Wall -Wextra -I$(top_srcdir)/runtime -rdynamic -pthread -o $@ $< -ldl
if HAVE_OPENMPI
hxmpi_openmpi = tests/mpi/alike-openmpi tests/mpi/hard-openmpi tests/mpi/lifetimes-openmpi tests/mpi/overhead-openmpi \
    tests/mpi/requests-openmpi tests/mpi/waits-openmpi
hxmpi_programs += $(hxmpi_openmpi)
$(hxmpi_openmpi): tests/mpi/%-openmpi: tests/mpi/%.c runtime/hierax.h tests/mpi/forms.h tests/mpi/parts.h
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(OPENMPI_CC) $(hxmpi_compile)
endif
if HAVE_MPICH
hxmpi_mpich = tests/mpi/alike-mpich tests/mpi/hard-mpich tests/mpi/lifetimes-mpich tests/mpi/overhead-mpich \
    tests/mpi/requests-mpich tests/mpi/waits-mpich
hxmpi_programs += $(hxmpi_mpich)
$(hxmpi_mpich): tests/mpi/%-mpich: tests/mpi/%.c runtime/hierax.h tests/mpi/forms.h tests/mpi/parts.h
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(MPICH_CC) $(hxmpi_compile)
endif
check_DATA = $(hxmpi_programs)
CLEANFILES += $(hxmpi_programs)
dist_tests_list += tests/mpi/alike.sh tests/mpi/hard.sh tests/mpi/requests.sh tests/mpi/lifetimes.sh tests/mpi/waits.sh \
    tests/mpi/fortran.sh
