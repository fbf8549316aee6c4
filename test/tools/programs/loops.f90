! Loops in threads of OpenMP, a file without a name, and the exit code of STOP.
program loops
  use omp_lib
  implicit none
  integer :: i, value
  real(8) :: total, begin
  begin = omp_get_wtime()
  do while (omp_get_wtime() - begin < 0.9d0)
    total = 0
    !$omp parallel do reduction(+:total) num_threads(2)
    do i = 1, 200000
      total = total + mod(i, 7)
    end do
  end do
  print '(a, f10.0)', 'total', total
  open(unit=10, status='scratch')
  write(10, *) 42
  rewind(10)
  read(10, *) value
  print '(i0)', value
  read(*, *) value
  print '(i0)', value
  stop 37
end program
