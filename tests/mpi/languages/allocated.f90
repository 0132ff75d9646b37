! A Fortran program that names neither Tutti nor a GPU: its arrays come from MPI_Alloc_mem, which gives device memory
! under TUTTI_DEVICE=host with TUTTI_HOST_STRICT=0.
program allocated
    use mpi_f08
    use iso_c_binding
    implicit none
    integer, parameter :: n = 2000
    integer :: rank, ranks, i, wrong
    type(c_ptr) :: a, b
    real(c_double), pointer :: x(:), y(:)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Alloc_mem(int(n * 8, MPI_ADDRESS_KIND), MPI_INFO_NULL, a)
    call MPI_Alloc_mem(int(n * 8, MPI_ADDRESS_KIND), MPI_INFO_NULL, b)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    x = [(real(rank * i, 8), i = 1, n)]
    call MPI_Allreduce(x, y, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    wrong = count(y /= [(real((ranks - 1) * i, 8), i = 1, n)])
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    wrong = wrong + count(x /= [(real(ranks * (ranks - 1) / 2 * i, 8), i = 1, n)])
    call MPI_Free_mem(x)
    call MPI_Free_mem(y)
    if (rank == 0) print '(a, i0, a, i0, a)', 'allocated: ', ranks, ' ranks, ', wrong, ' wrong'
    call MPI_Finalize()
    if (wrong /= 0) stop 1
end program
