! MPI_Allreduce from Fortran by `use mpi`: host arrays, device memory, MPI_IN_PLACE, messages of device memory.
program sums_mpi
    use mpi
    use iso_c_binding
    use device_memory
    implicit none
    integer, parameter :: n = 1000
    integer :: rank, ranks, error, i, wrong, all_wrong, status(MPI_STATUS_SIZE), request
    real(8) :: host(n), sums(n)
    real(8), pointer, contiguous :: from(:), to(:)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    wrong = 0
    host = [(real(rank + i, 8), i = 1, n)]

    call MPI_Allreduce(host, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call compare(sums, 1)

    from => device_array(n)
    to => device_array(n)
    call to_device(from, host)
    call MPI_Allreduce(from, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    call compare(sums, 1)

    call to_device(to, host)
    call MPI_Allreduce(MPI_IN_PLACE, to, n, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    call compare(sums, 1)

    call MPI_Irecv(to, n, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 7, MPI_COMM_WORLD, request, error)
    call MPI_Send(from, n, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 7, MPI_COMM_WORLD, error)
    call MPI_Wait(request, status, error)
    call to_host(sums, to)
    do i = 1, n
        if (sums(i) /= real(modulo(rank - 1, ranks) + i, 8)) wrong = wrong + 1
    end do

    call device_free(from)
    call device_free(to)
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (counted() < 2) all_wrong = all_wrong + 1000000
    if (rank == 0) print '(a, i0, a, i0, a)', 'sums_mpi: ', ranks, ' ranks, ', all_wrong, ' wrong'
    call MPI_Finalize(error)
    if (all_wrong /= 0) stop 1

contains
    subroutine compare(values, factor)
        real(8), intent(in) :: values(:)
        integer, intent(in) :: factor
        integer :: k
        do k = 1, size(values)
            if (values(k) /= factor * (ranks * (ranks - 1) / 2 + real(ranks, 8) * k)) wrong = wrong + 1
        end do
    end subroutine
end program
