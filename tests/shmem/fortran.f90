! The module tutti_shmem, against what a loop gives: put, get and their kin, atomics, signals, waits, teams,
! collectives, of all types of the module; on any number of PEs from 2.
module checks
    use, intrinsic :: iso_c_binding
    use tutti_shmem
    use kit_fortran
    implicit none
    integer :: status
contains
    subroutine whole_numbers
        integer(c_int32_t), pointer, contiguous :: a(:), b(:)
        integer(c_int64_t), pointer, contiguous :: x(:), y(:)
        integer(c_int32_t) :: seen(8), pe32
        integer(c_int64_t) :: seen8(8), old
        integer :: i, others
        call c_f_pointer(symmetric(4 * 64), a, [64])
        call c_f_pointer(symmetric(4 * 64), b, [64])
        call c_f_pointer(symmetric(8 * 64), x, [64])
        call c_f_pointer(symmetric(8 * 64), y, [64])
        pe32 = int(me, c_int32_t)
        call tshmem_put(a(3:), [(pe32 * 100 + int(i, c_int32_t), i = 1, 5)], 5, next)
        call tshmem_put_nbi(x(5:), [(me * 10000000000_c_int64_t + i, i = 1, 5)], 5, next)
        call tshmem_p(a(1), -pe32 - 1, next)
        call tshmem_p(x(1), -3000000000_c_int64_t * (me + 1), next)
        call tshmem_iput(b, [(pe32 + int(i, c_int32_t), i = 1, 6)], 3, 2, 3, next)
        call tshmem_quiet()
        call tshmem_barrier_all()
        call expect(all(a(3:7) == [(before * 100 + i, i = 1, 5)]) .and. a(2) == 0 .and. a(8) == 0, 'put int32')
        call expect(all(x(5:9) == [(before * 10000000000_c_int64_t + i, i = 1, 5)]) .and. x(10) == 0, 'put_nbi int64')
        call expect(a(1) == -before - 1 .and. x(1) == -3000000000_c_int64_t * (before + 1), 'p')
        call expect(all(b(1:9) == [before + 1, 0, 0, before + 3, 0, 0, before + 5, 0, 0]), 'iput')
        seen = 0
        call tshmem_get(seen(2:), a(3:), 5, next)
        call expect(all(seen(2:6) == a(3:7) - before * 100 + me * 100) .and. seen(1) == 0 .and. seen(7) == 0, 'get')
        seen8 = 0
        call tshmem_get_nbi(seen8, x(5:), 2, next)
        call tshmem_quiet()
        call expect(seen8(2) == me * 10000000000_c_int64_t + 2 .and. seen8(3) == 0, 'get_nbi')
        call tshmem_iget(seen, b, 1, 3, 3, next)
        call expect(all(seen(1:3) == [me + 1, me + 3, me + 5]), 'iget')
        call expect(tshmem_g(a(1), next) == -me - 1 .and. tshmem_g(x(1), next) == -3000000000_c_int64_t * (me + 1), 'g')
        call tshmem_barrier_all()

        ! Atomics: all PEs on words of PE 0.
        call tshmem_atomic_add(a(20), pe32 - 5, 0)
        call tshmem_atomic_inc(x(20), 0)
        old = tshmem_atomic_fetch_add(x(20), 5000000000_c_int64_t, 0)
        call expect(old >= 1, 'fetch_add')
        call tshmem_atomic_or(a(21), int(ishft(1, me), c_int32_t), 0)
        call tshmem_atomic_xor(x(21), ishft(1_c_int64_t, 40 + me) + 5, 0)
        call tshmem_atomic_xor(x(21), 5_c_int64_t, 0)
        if (tshmem_atomic_compare_swap(a(22), 0_c_int32_t, pe32 + 7, 0) == 0) call tshmem_atomic_inc(a(23), 0)
        call tshmem_barrier_all()
        others = pes * (pes - 1) / 2
        call expect(tshmem_atomic_fetch(a(20), 0) == others - 5 * pes, 'add int32, negative')
        call expect(tshmem_atomic_fetch(x(20), 0) == pes * 5000000001_c_int64_t, 'add int64')
        call expect(tshmem_g(a(21), 0) == 2**pes - 1, 'or')
        call expect(tshmem_g(x(21), 0) == (2_c_int64_t**pes - 1) * 2_c_int64_t**40, 'xor')
        call expect(tshmem_g(a(23), 0) == 1 .and. tshmem_g(a(22), 0) >= 7, 'compare_swap')
        call tshmem_barrier_all()
        seen(1) = tshmem_atomic_swap(a(24), -9_c_int32_t, me)
        call expect(seen(1) == 0 .and. a(24) == -9, 'swap')
        call tshmem_atomic_and(a(24), 6_c_int32_t, me)
        seen(1) = tshmem_atomic_fetch_and(a(24), 4_c_int32_t, me)
        call expect(seen(1) == 6 .and. a(24) == 4, 'and')
        call tshmem_atomic_set(x(24), -1_c_int64_t, next)
        seen(1) = tshmem_atomic_fetch_inc(a(24), me)
        call expect(seen(1) == 4 .and. a(24) == 5, 'fetch_inc')
        call tshmem_wait_until(x(24), TSHMEM_CMP_EQ, -1_c_int64_t)
        call expect(tshmem_test(x(24), TSHMEM_CMP_LT, 0_c_int64_t) .and. &
                    .not. tshmem_test(a(24), TSHMEM_CMP_NE, 5_c_int32_t), 'test')

        ! Collectives.
        a(30:31) = [pe32 + 1, -pe32]
        call expect(tshmem_fcollect(TSHMEM_TEAM_WORLD, b, a(30:), 2) == 0, 'fcollect')
        call expect(all(b(1:2 * pes:2) == [(i, i = 1, pes)]) .and. all(b(2:2 * pes:2) == [(-i, i = 0, pes - 1)]), &
                    'what fcollect gives')
        call expect(tshmem_collect(TSHMEM_TEAM_WORLD, b, a(30:), merge(1, 2, me == 0)) == 0, 'collect')
        call expect(b(1) == 1 .and. all(b(2:2 * pes - 1:2) == [(i, i = 2, pes)]), 'what collect gives')
        call expect(tshmem_broadcast(TSHMEM_TEAM_WORLD, a(33:), a(30:), 2, pes - 1) == 0, 'broadcast')
        call expect(all(a(33:34) == [pes, 1 - pes]), 'what broadcast gives')
        status = tshmem_sum_reduce(TSHMEM_TEAM_WORLD, b, a(30:), 2)
        call expect(status == 0 .and. b(1) == others + pes .and. &
                    b(2) == -others, 'sum int32')
        status = tshmem_min_reduce(TSHMEM_TEAM_WORLD, b, a(30:), 2)
        call expect(status == 0 .and. all(b(1:2) == [1, 1 - pes]), 'min')
        status = tshmem_max_reduce(TSHMEM_TEAM_WORLD, b, a(30:), 2)
        call expect(status == 0 .and. all(b(1:2) == [pes, 0]), 'max')
        status = tshmem_or_reduce(TSHMEM_TEAM_WORLD, b, a(30:), 1)
        call expect(status == 0 .and. b(1) == reduced_or(pes), 'or_reduce')
        x(1:pes) = [(me * 100_c_int64_t + i, i = 0, pes - 1)]
        call expect(tshmem_alltoall(TSHMEM_TEAM_WORLD, y, x, 1) == 0, 'alltoall')
        call expect(all(y(1:pes) == [(i * 100_c_int64_t + me, i = 0, pes - 1)]), 'what alltoall gives')
        status = tshmem_prod_reduce(TSHMEM_TEAM_WORLD, y, x(1:), 1)
        call expect(status == 0 .and. y(1) == 0, 'prod')
        call tshmem_free(c_loc(a))
    end subroutine

    integer function reduced_or(n) result(all)
        integer, intent(in) :: n
        integer :: i
        all = 0
        do i = 1, n
            all = ior(all, i)
        end do
    end function

    subroutine reals
        real(c_float), pointer, contiguous :: f(:)
        real(c_double), pointer, contiguous :: d(:)
        integer(c_int64_t), pointer, contiguous :: signal(:)
        integer(c_int64_t) :: seen
        integer :: i
        call c_f_pointer(symmetric(4 * 64), f, [64])
        call c_f_pointer(symmetric(8 * 64), d, [64])
        call c_f_pointer(symmetric(8 * 2), signal, [2])
        call tshmem_put_signal(d(9:), [(me + i / 8.0_c_double, i = 1, 9)], 9, signal(1), 1_c_int64_t, &
                               TSHMEM_SIG_ADD, next)
        call tshmem_put_signal(f(2:), [me + 0.5_c_float], 1, signal(1), 1_c_int64_t, TSHMEM_SIG_ADD, next)
        seen = tshmem_signal_wait_until(signal(1), TSHMEM_CMP_GE, 2_c_int64_t)
        call expect(seen == 2 .and. tshmem_signal_fetch(signal(1)) == 2, 'signal_wait_until')
        call expect(all(d(9:17) == [(before + i / 8.0_c_double, i = 1, 9)]) .and. d(18) == 0, 'put_signal real64')
        call expect(f(2) == before + 0.5 .and. f(1) == 0 .and. f(3) == 0, 'put_signal real32')
        call tshmem_signal_set(signal(2), 77_c_int64_t, next)
        seen = tshmem_signal_wait_until(signal(2), TSHMEM_CMP_EQ, 77_c_int64_t)
        call tshmem_barrier_all()
        call tshmem_atomic_add(f(40), 0.25_c_float, 0)
        call tshmem_atomic_add(d(40), -0.5_c_double, 0)
        call tshmem_barrier_all()
        call expect(tshmem_g(f(40), 0) == 0.25 * pes .and. tshmem_g(d(40), 0) == -0.5 * pes, 'add of reals')
        d(50) = me + 0.5
        status = tshmem_sum_reduce(TSHMEM_TEAM_WORLD, d(51:), d(50:), 1)
        call expect(status == 0 .and. d(51) == pes * pes / 2.0, &
                    'sum real64')
        f(50) = -me
        status = tshmem_min_reduce(TSHMEM_TEAM_WORLD, f(51:), f(50:), 1)
        call expect(status == 0 .and. f(51) == 1 - pes, 'min real32')
    end subroutine

    subroutine teams
        integer :: even, row, column
        integer(c_int64_t), pointer, contiguous :: x(:)
        call c_f_pointer(symmetric(8 * 2), x, [2])
        x(1) = me
        call expect(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, even) == 0, 'split_strided')
        call expect((even /= TSHMEM_TEAM_INVALID) .eqv. mod(me, 2) == 0, 'who is in the team')
        if (even /= TSHMEM_TEAM_INVALID) then
            call expect(tshmem_team_my_pe(even) == me / 2 .and. tshmem_team_n_pes(even) == (pes + 1) / 2, 'the team')
            call expect(tshmem_team_translate_pe(even, tshmem_team_my_pe(even), TSHMEM_TEAM_WORLD) == me, 'translate')
            status = tshmem_max_reduce(even, x(2:), x, 1)
            call expect(status == 0 .and. x(2) == (pes - 1) / 2 * 2, 'a reduction of it')
            call expect(tshmem_team_sync(even) == 0, 'team_sync')
            call tshmem_team_destroy(even)
        end if
        call expect(tshmem_team_split_2d(TSHMEM_TEAM_WORLD, 2, row, column) == 0, 'split_2d')
        call expect(tshmem_team_my_pe(row) == mod(me, 2) .and. tshmem_team_my_pe(column) == me / 2, 'rows and columns')
    end subroutine
end module

program fortran
    use checks
    implicit none
    if (tshmem_init() /= 0) stop 1
    call kit_open()
    call whole_numbers
    call reals
    call teams
    call expect(tshmem_error() == 0, 'no error')
    call tshmem_barrier_all()
    if (me == 0 .and. wrong == 0) print '(a,i0,a)', 'Fortran on ', pes, ' PEs: passed'
    if (tshmem_finalize() /= 0 .or. wrong /= 0) stop 1
end program
