! SPDX-License-Identifier: BSD-3-Clause
! Blocking and non-blocking collectives of a Fortran program, by the module mpi or mpi_f08 (-DF08). Compares the results with known sums.
program fortran
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer, parameter :: most = 5000, rounds = 20
  integer :: rank, ranks, i, k, n, error, token
  double precision :: in(most), out(most), longest(most)
  integer :: blocks(64), all(64)
#ifdef F08
  type(MPI_Request) :: requests(3)
#else
  integer :: requests(3)
#endif

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  do i = 1, rounds
    n = merge(1, most, mod(i, 2) == 0)
    do k = 1, n
      in(k) = rank + k + i
    end do
    call MPI_Allreduce(in, out, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(out, n, 1d0 * ranks, ranks * (ranks - 1) / 2d0 + ranks * i)
    out(1:n) = in(1:n)
    call MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(out, n, 1d0 * ranks, ranks * (ranks - 1) / 2d0 + ranks * i)
    if (rank == mod(i, ranks)) out(1:n) = in(1:n) - rank
    call MPI_Bcast(out, n, MPI_DOUBLE_PRECISION, mod(i, ranks), MPI_COMM_WORLD, error)
    call check(out, n, 1d0, 1d0 * i)
    blocks(1) = rank * i
    call MPI_Allgather(blocks, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    do k = 1, ranks
      if (all(k) /= (k - 1) * i) call wrong("MPI_Allgather")
    end do

    ! Rank 0 gets its message only once the other ranks have completed the call, in which they need rank 0.
    call MPI_Iallreduce(in, out, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
    call MPI_Iallreduce(in, longest, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, requests(2), error)
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(3), error)
    if (rank == 0) then
      do k = 1, ranks - 1
        call MPI_Recv(token, 1, MPI_INTEGER, k, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      end do
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
    else
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
      call MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_WORLD, error)
    end if
    call check(out, n, 1d0 * ranks, ranks * (ranks - 1) / 2d0 + ranks * i)
    call check(longest, n, 1d0, ranks - 1d0 + i)
  end do
  if (rank == 0) print '(a)', "fortran: good"
  call MPI_Finalize(error)

contains

  ! Is element k equal to factor * k + constant?
  subroutine check(values, n, factor, constant)
    integer, intent(in) :: n
    double precision, intent(in) :: values(n), factor, constant
    integer :: k
    do k = 1, n
      if (values(k) /= factor * k + constant) call wrong("a sum")
    end do
  end subroutine

  subroutine wrong(what)
    character(len=*), intent(in) :: what
    integer :: error
    print '(a,i0,3a,i0)', "fortran: rank ", rank, ": ", what, " is wrong in round ", i
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end program
