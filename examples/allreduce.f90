! A Fortran program that knows nothing of Tutti: it sums a vector over all ranks and checks the result.
! The memory is MPI_Alloc_mem's, which under Tutti's host device is memory of a simulated GPU.
!
!   mpifort allreduce.f90 -o allreduce
!   tutti run -n 4 ./allreduce
program allreduce
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08
    implicit none
    integer, parameter :: count = 1000000
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    integer :: rank, ranks, i, wrong, any_wrong
    type(c_ptr) :: memory
    real(real64), pointer :: in(:), out(:)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    bytes = 8_MPI_ADDRESS_KIND * count
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, in, [count])
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, out, [count])
    do i = 1, count
        in(i) = real((rank + 1) * mod(i, 1000), real64)
    end do

    call MPI_Allreduce(in, out, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)

    wrong = 0
    do i = 1, count
        if (out(i) /= real(ranks * (ranks + 1) / 2 * mod(i, 1000), real64)) wrong = wrong + 1
    end do
    call MPI_Allreduce(wrong, any_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) then
        if (any_wrong == 0) then
            print '(a,i0,a,i0,a)', 'sum of ', count, ' doubles over ', ranks, ' ranks: right'
        else
            print '(a,i0,a,i0,a)', 'sum of ', count, ' doubles over ', ranks, ' ranks: wrong'
        end if
    end if
    call MPI_Free_mem(in)
    call MPI_Free_mem(out)
    call MPI_Finalize()
    if (any_wrong /= 0) stop 1
end program allreduce
