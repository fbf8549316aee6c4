! Calls MPI from Fortran, with the bindings of mpif.h.
program calls
  implicit none
  include 'mpif.h'
  integer :: error, rank, count, round, request, half, other, from
  double precision :: data(4), sum(4)
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, count, error)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, count - rank, half, error)
  call MPI_COMM_RANK(half, other, error)
  data = 1
  do round = 1, 10
    call MPI_ALLREDUCE(data, sum, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    from = mod(other + count - 1, count)
    call MPI_IRECV(sum, 4, MPI_DOUBLE_PRECISION, from, 0, half, request, error)
    call MPI_SEND(data, 4, MPI_DOUBLE_PRECISION, mod(other + 1, count), 0, half, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
  end do
  call MPI_FINALIZE(error)
end program
