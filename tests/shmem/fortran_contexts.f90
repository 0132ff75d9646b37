! Contexts, locks and the nbi forms of atomics of the module tutti_shmem, against what a loop gives: all generic names with a
! context over all PEs and over a team in reverse, of all types; what is none is refused. On any number of PEs from 2.
module context_checks
    use, intrinsic :: iso_c_binding
    use tutti_shmem
    use kit_fortran
    implicit none
    integer :: status
contains
    ! `to` of the context is PE `there` of the world, and this PE is `there` of the PE `from`.
    subroutine moves(ctx, to, there, from)
        type(tshmem_ctx_t), intent(in) :: ctx
        integer, intent(in) :: to, there, from
        integer(c_int16_t), pointer, contiguous :: s(:)
        integer(c_int64_t), pointer, contiguous :: x(:), signal(:)
        real(c_double), pointer, contiguous :: d(:)
        complex(c_float_complex), pointer, contiguous :: c(:)
        integer(c_int64_t) :: got(8)
        integer :: i
        call c_f_pointer(symmetric(2 * 32), s, [32])
        call c_f_pointer(symmetric(8 * 32), x, [32])
        call c_f_pointer(symmetric(8 * 32), d, [32])
        call c_f_pointer(symmetric(8 * 32), c, [32])
        call c_f_pointer(symmetric(8 * 2), signal, [2])
        call tshmem_put(ctx, s(2:), [(int(me * 100 + i, c_int16_t), i = 1, 4)], 4, to)
        call tshmem_put_nbi(ctx, x(2:), [(me * 5000000000_c_int64_t + i, i = 1, 4)], 4, to)
        call tshmem_ctx_quiet(ctx)
        call tshmem_p(ctx, d(1), me + 0.25_c_double, to)
        call tshmem_p(ctx, c(2), cmplx(me, -1, c_float_complex), to)
        call tshmem_iput(ctx, x(10:), [(me + int(i, c_int64_t), i = 1, 6)], 3, 2, 3, to)
        call tshmem_ibput(ctx, s(10:), [(int(me + i, c_int16_t), i = 1, 8)], 5, 4, 2, 2, to)
        call tshmem_ctx_fence(ctx)
        call tshmem_put_signal(ctx, d(10:), [(me + i / 4.0_c_double, i = 1, 2)], 2, signal(1), 2_c_int64_t, &
                               TSHMEM_SIG_ADD, to)
        call tshmem_put_signal_nbi(ctx, c(5:), [cmplx(1, me, c_float_complex)], 1, signal(1), 5_c_int64_t, &
                                   TSHMEM_SIG_ADD, to)
        call tshmem_ctx_signal_add(ctx, signal(1), 10_c_int64_t, to)
        call tshmem_ctx_signal_set(ctx, signal(2), 77_c_int64_t + me, to)
        call tshmem_ctx_quiet(ctx)
        call tshmem_barrier_all()
        call expect(all(s(1:6) == [0, (from * 100 + i, i = 1, 4), 0]), 'put int16')
        call expect(all(x(1:6) == [0_c_int64_t, (from * 5000000000_c_int64_t + i, i = 1, 4), 0_c_int64_t]), 'put_nbi')
        call expect(d(1) == from + 0.25 .and. c(2) == cmplx(from, -1, c_float_complex) .and. c(1) == 0, 'p')
        call expect(all(x(10:18) == [from + 1, 0, 0, from + 3, 0, 0, from + 5, 0, 0]), 'iput')
        call expect(all(s(10:17) == [from + 1, from + 2, 0, 0, 0, from + 5, from + 6, 0]), 'ibput')
        call expect(all(d(10:12) == [from + 0.25_c_double, from + 0.5_c_double, 0.0_c_double]), 'put_signal')
        call expect(c(5) == cmplx(1, from, c_float_complex) .and. signal(1) == 17 .and. signal(2) == 77 + from, &
                    'put_signal_nbi, signal_add, signal_set')
        got = 0
        call tshmem_get(ctx, got(2:), x(2:), 3, to)
        call expect(all(got(1:5) == [0_c_int64_t, (me * 5000000000_c_int64_t + i, i = 1, 3), 0_c_int64_t]), 'get')
        call tshmem_get_nbi(ctx, got(6:), x(3:), 2, to)
        call tshmem_ctx_quiet(ctx)
        call expect(all(got(6:8) == [me * 5000000000_c_int64_t + 2, me * 5000000000_c_int64_t + 3, 0_c_int64_t]), 'get_nbi')
        call tshmem_iget(ctx, got, x(10:), 2, 3, 3, to)
        call expect(all(got(1:5:2) == [me + 1, me + 3, me + 5]), 'iget')
        call tshmem_ibget(ctx, got, x(10:), 2, 3, 1, 2, to)
        call expect(all(got(1:3:2) == [me + 1, me + 3]), 'ibget')
        call expect(tshmem_g(ctx, d(11), to) == me + 0.5 .and. tshmem_g(ctx, c(2), to) == cmplx(me, -1, c_float_complex) &
                    .and. tshmem_g(d(11), there) == me + 0.5, 'g')
        call tshmem_barrier_all()
        call tshmem_ctx_putmem(ctx, c_loc(x), c_loc(d(10:)), 8_c_size_t, to)
        call tshmem_barrier_all()
        call expect(transfer(x(1), d(1)) == tshmem_g(d(10), from), 'putmem')
        call tshmem_ctx_getmem(ctx, c_loc(d), c_loc(x), 8_c_size_t, to)
        call expect(d(1) == d(10), 'getmem')
        call tshmem_barrier_all()
    end subroutine

    ! Of the PE `to` of the context, which is `there` of the world; nobody else touches those words.
    subroutine atomics(ctx, to, there)
        type(tshmem_ctx_t), intent(in) :: ctx
        integer, intent(in) :: to, there
        integer(c_int32_t), pointer, contiguous :: a(:)
        integer(c_int64_t), pointer, contiguous :: x(:)
        real(c_float), pointer, contiguous :: f(:)
        integer(c_int32_t) :: was
        integer(c_int64_t) :: old
        real(c_float) :: real_was
        call c_f_pointer(symmetric(4 * 8), a, [8])
        call c_f_pointer(symmetric(8 * 8), x, [8])
        call c_f_pointer(symmetric(4 * 8), f, [8])
        call tshmem_atomic_set(ctx, a(1), 40_c_int32_t, to)
        call tshmem_atomic_inc(ctx, a(1), to)
        call tshmem_atomic_add(ctx, a(1), -3_c_int32_t, to)
        call expect(tshmem_atomic_fetch(ctx, a(1), to) == 38 .and. tshmem_g(a(1), there) == 38, 'set, inc, add, fetch')
        was = tshmem_atomic_fetch_add(ctx, a(1), 4_c_int32_t, to)
        call expect(was == 38 .and. tshmem_atomic_fetch_inc(ctx, a(1), to) == 42, 'fetch_add, fetch_inc')
        was = tshmem_atomic_swap(ctx, a(1), 12_c_int32_t, to)
        call expect(was == 43 .and. tshmem_atomic_compare_swap(ctx, a(1), 12_c_int32_t, 15_c_int32_t, to) == 12, &
                    'swap, compare_swap')
        call tshmem_atomic_and(ctx, a(1), 6_c_int32_t, to)
        call tshmem_atomic_or(ctx, a(1), 9_c_int32_t, to)
        call tshmem_atomic_xor(ctx, a(1), 1_c_int32_t, to)
        call expect(tshmem_g(a(1), there) == 14, 'and, or, xor')
        was = tshmem_atomic_fetch_and(ctx, a(1), 7_c_int32_t, to)
        call expect(was == 14 .and. tshmem_atomic_fetch_or(ctx, a(1), 1_c_int32_t, to) == 6, 'fetch_and, fetch_or')
        was = tshmem_atomic_fetch_xor(ctx, a(1), 2_c_int32_t, to)
        call expect(was == 7 .and. tshmem_g(a(1), there) == 5, 'fetch_xor')
        call tshmem_atomic_add(ctx, f(1), 0.5_c_float, to)
        real_was = tshmem_atomic_swap(ctx, f(1), 2.5_c_float, to)
        call expect(real_was == 0.5 .and. tshmem_atomic_fetch(ctx, f(1), to) == 2.5, 'of reals')

        ! Those whose answer comes later: with a context, and without.
        call tshmem_atomic_fetch_add_nbi(ctx, old, x(2), 7000000000_c_int64_t, to)
        call tshmem_ctx_quiet(ctx)
        call expect(old == 0, 'fetch_add_nbi')
        call tshmem_atomic_fetch_nbi(ctx, old, x(2), to)
        call tshmem_ctx_quiet(ctx)
        call expect(old == 7000000000_c_int64_t, 'fetch_nbi')
        call tshmem_atomic_swap_nbi(old, x(2), 12_c_int64_t, there)
        call tshmem_quiet()
        call expect(old == 7000000000_c_int64_t, 'swap_nbi')
        call tshmem_atomic_compare_swap_nbi(ctx, old, x(2), 12_c_int64_t, 8_c_int64_t, to)
        call tshmem_atomic_fetch_inc_nbi(was, a(2), there)
        call tshmem_ctx_quiet(ctx)
        call tshmem_quiet()
        call expect(old == 12 .and. was == 0 .and. tshmem_g(x(2), there) == 8 .and. tshmem_g(a(2), there) == 1, &
                    'compare_swap_nbi, fetch_inc_nbi')
        call tshmem_atomic_fetch_or_nbi(ctx, old, x(2), 5_c_int64_t, to)
        call tshmem_ctx_quiet(ctx)
        call expect(old == 8, 'fetch_or_nbi')
        call tshmem_atomic_fetch_and_nbi(old, x(2), 12_c_int64_t, there)
        call tshmem_quiet()
        call expect(old == 13, 'fetch_and_nbi')
        call tshmem_atomic_fetch_xor_nbi(ctx, old, x(2), 1_c_int64_t, to)
        call tshmem_ctx_quiet(ctx)
        call expect(old == 12 .and. tshmem_g(x(2), there) == 13, 'fetch_xor_nbi')
        call tshmem_atomic_fetch_add_nbi(real_was, f(1), 1.5_c_float, there)
        call tshmem_quiet()
        call expect(real_was == 2.5 .and. tshmem_g(f(1), there) == 4, 'fetch_add_nbi of reals')
        call tshmem_barrier_all()
    end subroutine

    subroutine contexts
        type(tshmem_ctx_t) :: ctx, ended
        integer :: reverse, team, to
        call moves(TSHMEM_CTX_DEFAULT, next, next, before)
        call expect(tshmem_ctx_create(TSHMEM_CTX_SERIALIZED + TSHMEM_CTX_NOSTORE, ctx) == 0, 'ctx_create')
        call expect(tshmem_ctx_get_team(ctx, team) == 0 .and. team == TSHMEM_TEAM_WORLD, 'ctx_get_team')
        call moves(ctx, next, next, before)
        call atomics(ctx, next, next)
        call tshmem_ctx_destroy(ctx)

        call expect(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, pes - 1, -1, pes, reverse) == 0, 'the team')
        call expect(tshmem_team_create_ctx(reverse, TSHMEM_CTX_PRIVATE, ctx) == 0, 'team_create_ctx')
        call expect(tshmem_ctx_get_team(ctx, team) == 0 .and. team == reverse, 'ctx_get_team of a team')
        to = mod(tshmem_team_my_pe(reverse) + 1, pes)
        call moves(ctx, to, before, next)
        call atomics(ctx, to, before)
        call expect(tshmem_error() == 0, 'no error')

        ! What is refused is said on standard error.
        ended = ctx
        call tshmem_ctx_destroy(ctx)
        call expect(tshmem_ctx_get_team(TSHMEM_CTX_INVALID, team) < 0 .and. team == TSHMEM_TEAM_INVALID, 'of none')
        if (me == 0) print '(a)', 'a context that has ended, and options that there are not, are refused'
        call tshmem_ctx_quiet(ended)
        call expect(tshmem_error() < 0, 'one that has ended')
        status = tshmem_ctx_create(64, ctx)
        call expect(status < 0 .and. ctx%handle == TSHMEM_CTX_INVALID%handle .and. tshmem_error() < 0, 'no such options')
        call tshmem_barrier_all()
        call tshmem_team_destroy(reverse)
    end subroutine

    ! All PEs add to a counter of the last one, which only the lock keeps whole.
    subroutine locks
        integer(c_long), pointer, contiguous :: lock(:)
        integer(c_int64_t), pointer, contiguous :: x(:)
        integer :: i
        call c_f_pointer(symmetric(8 * 2), lock, [2])
        call c_f_pointer(symmetric(8), x, [1])
        do i = 1, 50
            call tshmem_set_lock(lock(2))
            call tshmem_p(x(1), tshmem_g(x(1), pes - 1) + 1, pes - 1)
            call tshmem_clear_lock(lock(2))
        end do
        call tshmem_barrier_all()
        call expect(tshmem_g(x(1), pes - 1) == 50 * pes, 'set_lock')
        call tshmem_barrier_all()
        if (me == 0) call expect(tshmem_test_lock(lock(1)) == 0, 'test_lock: free')
        call tshmem_barrier_all()
        if (me == 1) call expect(tshmem_test_lock(lock(1)) == 1, 'test_lock: taken')
        call tshmem_barrier_all()
        if (me == 0) call tshmem_clear_lock(lock(1))
        call tshmem_barrier_all()
    end subroutine
end module

program fortran_contexts
    use context_checks
    implicit none
    if (tshmem_init() /= 0) stop 1
    call kit_open()
    call contexts
    call locks
    call expect(tshmem_error() == 0, 'no error at the end')
    call tshmem_barrier_all()
    if (me == 0 .and. wrong == 0) print '(a,i0,a)', 'contexts of Fortran on ', pes, ' PEs: passed'
    if (tshmem_finalize() /= 0 .or. wrong /= 0) stop 1
end program
