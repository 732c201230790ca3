# SPDX-License-Identifier: BSD-3-Clause
# Tests of libhierax-mpi: programs of each MPI whose compiler is here.
hxmpi_names = alike hard lifetimes loops neighbors overhead requests waits
EXTRA_DIST += $(hxmpi_names:%=tests/mpi/%.c) tests/mpi/forms.h tests/mpi/parts.h tests/mpi/fortran.f90 tests/mpi/local_calls.txt \
    tests/mpi/jobs.sh tests/mpi/kmeans.py tests/mpi/programs.sh tests/mpi/programs_of.sh tests/mpi/ratios.py
hxmpi_programs =
# MPICH passes small numbers as arrays, such as MPI_UNWEIGHTED
hxmpi_compile = -O2 -g -Wall -Wextra -Wno-stringop-overread -Wno-stringop-overflow -I$(top_srcdir)/runtime -rdynamic -pthread -o $@ $< -ldl
if HAVE_OPENMPI
hxmpi_openmpi = $(hxmpi_names:%=tests/mpi/%-openmpi)
hxmpi_programs += $(hxmpi_openmpi)
$(hxmpi_openmpi): tests/mpi/%-openmpi: tests/mpi/%.c runtime/hierax.h tests/mpi/forms.h tests/mpi/parts.h
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(OPENMPI_CC) $(hxmpi_compile)
endif
if HAVE_MPICH
hxmpi_mpich = $(hxmpi_names:%=tests/mpi/%-mpich)
hxmpi_programs += $(hxmpi_mpich)
$(hxmpi_mpich): tests/mpi/%-mpich: tests/mpi/%.c runtime/hierax.h tests/mpi/forms.h tests/mpi/parts.h
	@$(MKDIR_P) tests/mpi
	$(AM_V_CCLD)$(MPICH_CC) $(hxmpi_compile)
endif
check_DATA = $(hxmpi_programs)
CLEANFILES += $(hxmpi_programs)
dist_tests_list += tests/mpi/alike.sh tests/mpi/neighbors.sh tests/mpi/hard.sh tests/mpi/requests.sh tests/mpi/lifetimes.sh tests/mpi/waits.sh \
    tests/mpi/fortran.sh tests/mpi/suites.sh
