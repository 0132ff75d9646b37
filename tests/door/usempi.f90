! use mpi: Fortran libraries call the PMPI names; the door must be reached all the same.
program usempi
    use mpi
    use iso_c_binding
    implicit none
    integer(MPI_ADDRESS_KIND) :: memory
    real(8), pointer :: x(:)
    real(8) :: host(100)
    integer :: ierr, rank, size, i, n, wrong
    n = 5000
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    call MPI_Alloc_mem(int(n * 8, MPI_ADDRESS_KIND), MPI_INFO_NULL, memory, ierr)
    call c_f_pointer(transfer(memory, c_null_ptr), x, [n])
    x = [(real(i + rank, 8), i=1, n)]
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    wrong = 0
    do i = 1, n
        if (x(i) /= real(size * i + size * (size - 1) / 2, 8)) wrong = wrong + 1
    end do
    host = 1
    call MPI_Allreduce(MPI_IN_PLACE, host, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(host /= size)) wrong = wrong + 1
    call MPI_Free_mem(x, ierr)
    call MPI_Finalize(ierr)
    if (wrong /= 0) error stop "wrong sums"
end program
