! The module tutti_shmem over a communicator of the program, ranks in reverse: all types of the module in reductions, scans
! and moves, waits for several words. On any number of PEs from 2 to 8.
module more_checks
    use, intrinsic :: iso_c_binding
    use tutti_shmem
    use kit_fortran
    implicit none
contains
    subroutine shorts
        integer(c_int16_t), pointer, contiguous :: a(:), b(:)
        integer(c_int16_t) :: seen(12)
        integer :: i, which, many, found(4), left(4)
        call c_f_pointer(symmetric(2 * 64), a, [64])
        call c_f_pointer(symmetric(2 * 64), b, [64])
        call tshmem_ibput(a(2:), [(int(me * 100 + i, c_int16_t), i = 1, 8)], 5, 4, 2, 2, next)
        call tshmem_quiet()
        call tshmem_barrier_all()
        call expect(all(a(1:9) == [0, before * 100 + 1, before * 100 + 2, 0, 0, 0, before * 100 + 5, &
                                   before * 100 + 6, 0]), 'ibput')
        seen = -1
        call tshmem_ibget(seen(2:), a(2:), 3, 5, 2, 2, next)
        call expect(all(seen(1:7) == [-1, me * 100 + 1, me * 100 + 2, -1, me * 100 + 5, me * 100 + 6, -1]), 'ibget')
        call tshmem_barrier_all()
        a(1:2 * pes) = [(int(me + i, c_int16_t), i = 1, 2 * pes)]
        call expect(tshmem_sum_reducescatter(TSHMEM_TEAM_WORLD, b, a, 2) == 0, 'reducescatter')
        call expect(all(b(1:2) == [(pes * (2 * me + i) + pes * (pes - 1) / 2, i = 1, 2)]), 'what reducescatter gives')
        call expect(tshmem_xor_reduce(TSHMEM_TEAM_WORLD, b, a, 1) == 0, 'xor_reduce')
        which = 0
        do i = 1, pes
            which = ieor(which, i)
        end do
        call expect(b(1) == which, 'what xor_reduce gives')
        call expect(tshmem_alltoalls(TSHMEM_TEAM_WORLD, b, a, 3, 2, 1) == 0, 'alltoalls')
        call expect(all(b(1:3 * pes:3) == [(i + 2 * me + 1, i = 0, pes - 1)]), 'what alltoalls gives')
        call tshmem_barrier_all()

        ! Words 51 to 54 come from the PE before.
        left = 0
        call expect(tshmem_test_any(a(51:), 4, left, TSHMEM_CMP_NE, 0_c_int16_t) == 0, 'test_any: none')
        call tshmem_barrier_all()
        call tshmem_p(a(53), 7_c_int16_t, next)
        which = tshmem_wait_until_any(a(51:), 4, left, TSHMEM_CMP_EQ, 7_c_int16_t)
        call expect(which == 3, 'wait_until_any')
        left(3) = 1
        call expect(tshmem_test_any(a(51:), 4, left, TSHMEM_CMP_NE, 0_c_int16_t) == 0, 'test_any: left out')
        call tshmem_barrier_all()
        call tshmem_p(a(52), 2_c_int16_t, next)
        call tshmem_p(a(54), 4_c_int16_t, next)
        call tshmem_p(a(51), 1_c_int16_t, next)
        call tshmem_wait_until_all_vector(a(51:), 4, left, TSHMEM_CMP_EQ, [1_c_int16_t, 2_c_int16_t, 9_c_int16_t, &
                                                                         4_c_int16_t])
        many = tshmem_wait_until_some(a(51:), 4, found, left, TSHMEM_CMP_GT, 1_c_int16_t)
        call expect(many == 2 .and. all(found(1:2) == [2, 4]), 'wait_until_some')
        left = 0
        call expect(tshmem_test_all(a(51:), 4, left, TSHMEM_CMP_LE, 7_c_int16_t) .and. &
                    .not. tshmem_test_all(a(51:), 4, left, TSHMEM_CMP_LT, 7_c_int16_t), 'test_all')
        many = tshmem_test_some_vector(a(51:), 4, found, left, TSHMEM_CMP_EQ, [0_c_int16_t, 2_c_int16_t, 7_c_int16_t, &
                                                                               0_c_int16_t])
        call expect(many == 2 .and. all(found(1:2) == [2, 3]), 'test_some_vector')
        call tshmem_barrier_all()
    end subroutine

    subroutine scans
        integer(c_int64_t), pointer, contiguous :: x(:)
        real(c_float), pointer, contiguous :: f(:)
        call c_f_pointer(symmetric(8 * 8), x, [8])
        call c_f_pointer(symmetric(4 * 8), f, [8])
        x(1:2) = [me + 1_c_int64_t, -2000000000_c_int64_t * me]
        call expect(tshmem_sum_inscan(TSHMEM_TEAM_WORLD, x(3:), x, 2) == 0, 'inscan')
        call expect(x(3) == (me + 1) * (me + 2) / 2 .and. x(4) == -1000000000_c_int64_t * me * (me + 1), &
                    'what inscan gives')
        f(1) = me + 0.5
        f(2) = -1
        call expect(tshmem_sum_exscan(TSHMEM_TEAM_WORLD, f(2:), f, 1) == 0, 'exscan')
        call expect(f(2) == merge(f(2), me * me / 2.0, me == 0), 'what exscan gives')
    end subroutine

    subroutine complex_numbers
        complex(c_float_complex), pointer, contiguous :: c(:)
        complex(c_double_complex), pointer, contiguous :: z(:)
        complex(c_double_complex) :: seen(3), product
        integer :: i
        call c_f_pointer(symmetric(8 * 16), c, [16])
        call c_f_pointer(symmetric(16 * 16), z, [16])
        call tshmem_put(z(2:), [(cmplx(me, i, c_double_complex), i = 1, 3)], 3, next)
        call tshmem_p(c(1), cmplx(me, -me - 1, c_float_complex), next)
        call tshmem_barrier_all()
        call expect(all(z(2:4) == [(cmplx(before, i, c_double_complex), i = 1, 3)]) .and. z(5) == 0, 'put complex')
        call expect(c(1) == cmplx(before, -before - 1, c_float_complex), 'p complex')
        call expect(tshmem_g(z(3), next) == cmplx(me, 2, c_double_complex), 'g complex')
        seen = 0
        call tshmem_iget(seen, z(2:), 1, 2, 2, next)
        call expect(all(seen == [cmplx(me, 1, c_double_complex), cmplx(me, 3, c_double_complex), (0d0, 0d0)]), 'iget')
        call tshmem_barrier_all()
        z(1) = cmplx(1, me + 1, c_double_complex)
        product = 1
        do i = 1, pes
            product = product * cmplx(1, i, c_double_complex)
        end do
        call expect(tshmem_prod_reduce(TSHMEM_TEAM_WORLD, z(2:), z, 1) == 0, 'prod complex')
        call expect(z(2) == product, 'what prod gives')
        call expect(tshmem_sum_reduce(TSHMEM_TEAM_WORLD, c(2:), c, 1) == 0, 'sum complex')
        call expect(c(2) == cmplx(pes * (pes - 1) / 2, -pes * (pes + 1) / 2, c_float_complex), 'what sum gives')
        call expect(tshmem_sum_inscan(TSHMEM_TEAM_WORLD, z(4:), z, 1) == 0, 'inscan complex')
        call expect(z(4) == cmplx(me + 1, (me + 1) * (me + 2) / 2, c_double_complex), 'what inscan complex gives')
    end subroutine

    ! What there is only with heaps on GPUs is refused elsewhere, and nothing is lost.
    subroutine streams
        integer(c_int64_t), pointer, contiguous :: x(:)
        integer :: status
        if (me == 0) print '(a)', 'heaps are in memory of the host: calls in stream order are refused'
        call c_f_pointer(symmetric(8 * 4), x, [4])
        x(1) = me
        status = tshmem_put_on_stream(x(2:), x, 1, next, c_null_ptr)
        call expect(status < 0, 'put_on_stream on the host')
        status = tshmem_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, x(2:), x, 1, c_null_ptr)
        call expect(status < 0, 'sum_reduce_on_stream on the host')
        call expect(tshmem_error() < 0 .and. x(2) == 0 .and. x(1) == me, 'what refused calls leave')
    end subroutine
end module

program fortran_types
    use mpi
    use more_checks
    implicit none
    integer :: error, rank, ranks, comm, team
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm, error)
    if (tshmem_init_comm(comm) /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call kit_open()
    call expect(me == ranks - 1 - rank .and. pes == ranks, 'PEs are the ranks of the communicator')
    call shorts
    call scans
    call complex_numbers
    call expect(tshmem_error() == 0, 'no error')
    call streams
    call expect(tshmem_team_from_comm(comm, team) == 0, 'a team of a communicator')
    call expect(tshmem_team_my_pe(team) == me .and. tshmem_team_n_pes(team) == pes, 'its PEs are the ranks')
    call tshmem_team_destroy(team)
    call tshmem_barrier_all()
    if (me == 0 .and. wrong == 0) print '(a,i0,a)', 'types of Fortran on ', pes, ' PEs: passed'
    if (tshmem_finalize() /= 0 .or. wrong /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call MPI_Finalize(error)
end program
