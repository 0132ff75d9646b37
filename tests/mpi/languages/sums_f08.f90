! Reductions from Fortran by `use mpi_f08`: host arrays, device memory, MPI_IN_PLACE, messages of device memory.
program sums_f08
    use mpi_f08
    use iso_c_binding
    use device_memory
    implicit none
    integer, parameter :: n = 1000
    integer :: rank, ranks, error, i, wrong, all_wrong, root
    integer, allocatable :: counts(:)
    type(MPI_Status) :: status
    type(MPI_Request) :: request
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

    root = ranks - 1
    call to_device(from, host)
    call to_device(to, [(-1d0, i = 1, n)])
    call MPI_Reduce(from, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    if (rank == root) call compare(sums, 1)
    if (rank /= root) wrong = wrong + count(sums /= -1)

    call to_device(to, host)
    if (rank == root) then
        call MPI_Reduce(MPI_IN_PLACE, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, error)
    else
        call MPI_Reduce(from, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, error)
    end if
    call to_host(sums, to)
    if (rank == root) call compare(sums, 1)
    if (rank /= root) wrong = wrong + count(sums /= host)

    call MPI_Scan(from, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    do i = 1, n
        if (sums(i) /= rank * (rank + 1) / 2 + real(rank + 1, 8) * i) wrong = wrong + 1
    end do

    call to_device(to, host)
    call MPI_Exscan(MPI_IN_PLACE, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    do i = 1, n
        if (rank > 0 .and. sums(i) /= rank * (rank - 1) / 2 + real(rank, 8) * i) wrong = wrong + 1
        if (rank == 0 .and. sums(i) /= host(i)) wrong = wrong + 1
    end do

    ! All to the last rank, nothing to the others.
    allocate(counts(ranks), source=0)
    counts(ranks) = n
    call to_device(to, host)
    call MPI_Reduce_scatter(MPI_IN_PLACE, to, counts, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call to_host(sums, to)
    if (rank == root) call compare(sums, 1)

    call to_device(to, host)
    call MPI_Reduce_local(from, to, n, MPI_DOUBLE_PRECISION, MPI_SUM, error)
    call to_host(sums, to)
    wrong = wrong + count(sums /= 2 * host)

    call device_free(from)
    call device_free(to)
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (counted() < 8) all_wrong = all_wrong + 1000000
    if (rank == 0) print '(a, i0, a, i0, a)', 'sums_f08: ', ranks, ' ranks, ', all_wrong, ' wrong'
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
