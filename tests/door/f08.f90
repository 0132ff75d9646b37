! mpi_f08: Fortran libraries call the PMPI names; the door must be reached all the same.
program f08
    use mpi_f08
    use iso_c_binding
    implicit none
    type(c_ptr) :: memory
    real(8), pointer :: x(:)
    real(8) :: host(100)
    integer :: rank, size, i, n, wrong
    n = 5000
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Alloc_mem(int(n * 8, MPI_ADDRESS_KIND), MPI_INFO_NULL, memory)
    call c_f_pointer(memory, x, [n])
    x = [(real(i + rank, 8), i=1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    wrong = 0
    do i = 1, n
        if (x(i) /= real(size * i + size * (size - 1) / 2, 8)) wrong = wrong + 1
    end do
    host = 1
    call MPI_Allreduce(MPI_IN_PLACE, host, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (any(host /= size)) wrong = wrong + 1
    call MPI_Free_mem(x)
    call MPI_Finalize()
    if (wrong /= 0) error stop "wrong sums"
end program
