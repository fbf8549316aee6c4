! Calls MPI from Fortran, with the bindings of the module mpi_f08. With MPI_IN_PLACE, the
! counts, offsets and datatype to send are ignored: here, numbers that are not counts.
program calls_f08
  use mpi_f08
  implicit none
  integer :: rank, count, round, other, from
  type(MPI_Request) :: request
  type(MPI_Comm) :: half
  integer :: ones(4), offsets(4), exchanged(4), ignored(4)
  double precision :: data(4), sum(4)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, count)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, count - rank, half)
  call MPI_Comm_rank(half, other)
  data = 1
  do round = 1, 10
    call MPI_Allreduce(data, sum, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    from = mod(other + count - 1, count)
    call MPI_Irecv(sum, 4, MPI_DOUBLE_PRECISION, from, 0, half, request)
    call MPI_Send(data, 4, MPI_DOUBLE_PRECISION, mod(other + 1, count), 0, half)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end do
  ones = 1
  offsets = [0, 1, 2, 3]
  ignored = 1000
  call MPI_Alltoallv(MPI_IN_PLACE, ignored, ignored, MPI_DATATYPE_NULL, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Alltoallv(MPI_IN_PLACE, ignored, ignored, MPI_INTEGER, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Ialltoallv(MPI_IN_PLACE, ignored, ignored, MPI_DATATYPE_NULL, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Ialltoallv(MPI_IN_PLACE, ignored, ignored, MPI_INTEGER, exchanged, ones, offsets, &
    MPI_INTEGER, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Allgather(MPI_IN_PLACE, ignored(1), MPI_INTEGER, exchanged, 1, MPI_INTEGER, &
    MPI_COMM_WORLD)
  call MPI_Finalize()
end program
