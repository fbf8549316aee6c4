! Calls MPI from Fortran, with the bindings of mpif.h. With MPI_IN_PLACE, the counts, offsets and
! datatype to send are ignored: here, an address that is not valid, and numbers that are not counts.
program calls
  implicit none
  include 'mpif.h'
  integer :: error, rank, count, round, request, half, other, from
  integer :: ones(4), offsets(4), exchanged(4), ignored
  integer, pointer :: nowhere => null()
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
  ones = 1
  offsets = (/ 0, 1, 2, 3 /)
  ignored = 1000
  call MPI_ALLTOALLV(MPI_IN_PLACE, nowhere, nowhere, MPI_DATATYPE_NULL, exchanged, ones, &
    offsets, MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_ALLTOALLV(MPI_IN_PLACE, ignored, ignored, MPI_INTEGER, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_IALLTOALLV(MPI_IN_PLACE, nowhere, nowhere, MPI_DATATYPE_NULL, exchanged, ones, &
    offsets, MPI_INTEGER, MPI_COMM_WORLD, request, error)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
  call MPI_IALLTOALLV(MPI_IN_PLACE, ignored, ignored, MPI_INTEGER, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD, request, error)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
  call MPI_ALLGATHER(MPI_IN_PLACE, ignored, MPI_INTEGER, exchanged, 1, MPI_INTEGER, &
    MPI_COMM_WORLD, error)
  call MPI_FINALIZE(error)
end program
