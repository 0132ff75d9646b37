! The module tutti_shmem in the order of a stream: a ring of puts with signals, collectives and reductions of several
! types, put into the stream one after the other and looked at once; then single and strided elements, atomics, and waits
! and tests of several words. Heaps in memory of GPUs. From 2 to 8 PEs.
program fortran_stream
    use, intrinsic :: iso_c_binding
    use tutti_shmem
    use kit_fortran
    implicit none
    interface
        integer(c_int) function tutti_stream_create(stream) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: stream
        end function
        integer(c_int) function tutti_stream_sync(stream) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stream
        end function
        integer(c_int) function tutti_stream_destroy(stream) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stream
        end function
    end interface
    integer, parameter :: world = TSHMEM_TEAM_WORLD
    type(c_ptr) :: stream
    integer :: i
    integer(c_int32_t), pointer, contiguous :: a(:)
    integer(c_int64_t), pointer, contiguous :: x(:), signal(:)
    complex(c_double_complex), pointer, contiguous :: z(:)
    integer(c_int32_t) :: ints(32)
    integer(c_int64_t) :: longs(64)
    complex(c_double_complex) :: complexes(4)

    if (tshmem_init() /= 0) stop 1
    call kit_open()
    call c_f_pointer(symmetric(32 * 4), a, [32])
    call c_f_pointer(symmetric(64 * 8), x, [64])
    call c_f_pointer(symmetric(8), signal, [1])
    call c_f_pointer(symmetric(4 * 16), z, [4])
    call expect(tutti_stream_create(stream) == 0, 'a stream')

    call tshmem_put(a, [(int(10 * me + i, c_int32_t), i = 1, 2)], 2, me)
    call tshmem_put(x, [(me + 1) * 5000000000_c_int64_t], 1, me)
    call tshmem_put(z, [cmplx(me, 1, c_double_complex)], 1, me)
    call tshmem_barrier_all()

    ! a(3:4) of the next PE; then all follows in the stream, which waits for the signal.
    call expect(tshmem_put_signal_on_stream(a(3:), a, 2, signal(1), 3_c_int64_t, TSHMEM_SIG_ADD, next, stream) == 0, &
                'put_signal')
    call expect(tshmem_signal_wait_until_on_stream(signal(1), TSHMEM_CMP_EQ, 3_c_int64_t, stream) == 0, 'signal_wait')
    call expect(tshmem_fcollect_on_stream(world, a(5:), a(3:), 2, stream) == 0, 'fcollect')
    call expect(tshmem_broadcast_on_stream(world, a(30:), a(4:), 1, pes - 1, stream) == 0, 'broadcast')
    call expect(tshmem_xor_reduce_on_stream(world, a(31:), a, 1, stream) == 0, 'xor_reduce')
    call expect(tshmem_sum_reduce_on_stream(world, x(2:), x, 1, stream) == 0, 'sum_reduce')
    call expect(tshmem_sum_inscan_on_stream(world, x(3:), x, 1, stream) == 0, 'inscan')
    call expect(tshmem_put_on_stream(x(20 + me:), x(3:), 1, next, stream) == 0, 'put')
    call expect(tshmem_barrier_all_on_stream(stream) == 0, 'barrier_all')
    call expect(tshmem_alltoall_on_stream(world, x(40:), x(20:), 1, stream) == 0, 'alltoall')
    call expect(tshmem_sum_reducescatter_on_stream(world, x(4:), x(20:), 1, stream) == 0, 'reducescatter')
    call expect(tshmem_get_on_stream(x(5:), x(3:), 1, next, stream) == 0, 'get')
    call expect(tshmem_prod_reduce_on_stream(world, z(2:), z, 1, stream) == 0, 'prod_reduce complex')
    call expect(tshmem_sum_exscan_on_stream(world, z(3:), z, 1, stream) == 0, 'exscan complex')
    call expect(tshmem_quiet_on_stream(stream) == 0, 'quiet')
    call expect(tutti_stream_sync(stream) == 0, 'sync')

    call tshmem_get(ints, a, 32, me)
    call tshmem_get(longs, x, 64, me)
    call tshmem_get(complexes, z, 4, me)
    call expect(all(ints(3:4) == 10 * before + [1, 2]), 'what put_signal brought')
    call expect(all(ints(5:4 + 2 * pes:2) == [(10 * mod(i + pes - 1, pes) + 1, i = 0, pes - 1)]), 'what fcollect gives')
    call expect(ints(30) == 10 * mod(2 * pes - 2, pes) + 2, 'what broadcast gives')
    call expect(ints(31) == all_xor(), 'what xor_reduce gives')
    call expect(longs(2) == pes * (pes + 1) / 2 * 5000000000_c_int64_t, 'what sum_reduce gives')
    call expect(longs(3) == scanned(me), 'what inscan gives')
    call expect(longs(20 + before) == scanned(before), 'what put brought')
    call expect(longs(40 + next) == scanned(me) .and. count(longs(40:39 + pes) /= 0) == 1, 'what alltoall gives')
    call expect(longs(4) == scanned(me), 'what reducescatter gives')
    call expect(longs(5) == scanned(next), 'what get brought')
    complexes(4) = 1
    do i = 0, pes - 1
        complexes(4) = complexes(4) * cmplx(i, 1, c_double_complex)
    end do
    call expect(complexes(2) == complexes(4), 'what prod_reduce gives')
    if (me > 0) call expect(complexes(3) == cmplx(me * (me - 1) / 2, me, c_double_complex), 'what exscan gives')
    call moves()
    call atomics()
    call words()
    call expect(tshmem_error() == 0, 'no error')
    call tshmem_barrier_all()
    call expect(tutti_stream_destroy(stream) == 0, 'the stream ends')
    if (me == 0 .and. wrong == 0) print '(a,i0,a)', 'Fortran in stream order on ', pes, ' PEs: passed'
    if (tshmem_finalize() /= 0 .or. wrong /= 0) stop 1
contains
    ! Single elements, strided ones, blocks and nbi forms.
    subroutine moves()
        integer(c_int32_t), pointer, contiguous :: b(:)
        integer(c_int32_t) :: seen(64)
        call c_f_pointer(symmetric(64 * 4), b, [64])
        call tshmem_put(b, [(int(100 * me + i, c_int32_t), i = 1, 64)], 64, me)
        call tshmem_barrier_all()
        call expect(tshmem_g_on_stream(b(33), b(2), next, stream) == 0, 'g')
        call expect(tshmem_get_nbi_on_stream(b(34:), b(3:), 2, next, stream) == 0, 'get_nbi')
        call expect(tshmem_iget_on_stream(b(36:), b(1:), 2, 3, 2, next, stream) == 0, 'iget')
        call expect(tshmem_ibget_on_stream(b(40:), b(1:), 3, 4, 2, 2, next, stream) == 0, 'ibget')
        call expect(tshmem_p_on_stream(b(46), int(-me, c_int32_t), next, stream) == 0, 'p')
        call expect(tshmem_put_nbi_on_stream(b(47:), b(1:), 1, next, stream) == 0, 'put_nbi')
        call expect(tshmem_iput_on_stream(b(48:), b(2:), 2, 1, 2, next, stream) == 0, 'iput')
        call expect(tshmem_ibput_on_stream(b(51:), b(4:), 3, 2, 2, 2, next, stream) == 0, 'ibput')
        call expect(tshmem_put_signal_nbi_on_stream(b(57:), b(9:), 1, signal(1), 9_c_int64_t, TSHMEM_SIG_SET, next, stream) &
                    == 0, 'put_signal_nbi')
        call expect(tshmem_barrier_all_on_stream(stream) == 0, 'barrier')
        call expect(tshmem_alltoalls_on_stream(world, b(20:), b(10:), 1, 1, 1, stream) == 0, 'alltoalls')
        call expect(tutti_stream_sync(stream) == 0, 'sync')
        call tshmem_get(seen, b, 64, me)
        call expect(seen(33) == 100 * next + 2, 'what g brought')
        call expect(all(seen(34:35) == 100 * next + [3, 4]), 'what get_nbi brought')
        call expect(seen(36) == 100 * next + 1 .and. seen(38) == 100 * next + 4 .and. seen(37) == 100 * me + 37, 'iget')
        call expect(all(seen(40:44) == [100 * next + 1, 100 * next + 2, 100 * me + 42, 100 * next + 5, 100 * next + 6]), &
                    'what ibget brought')
        call expect(seen(46) == -before .and. seen(47) == 100 * before + 1, 'what p and put_nbi brought')
        call expect(seen(48) == 100 * before + 2 .and. seen(50) == 100 * before + 3, 'what iput brought')
        call expect(all(seen([51, 52, 54, 55]) == 100 * before + [4, 5, 6, 7]), 'what ibput brought')
        call expect(seen(57) == 100 * before + 9, 'what put_signal_nbi brought')
        call expect(all(seen(20:19 + pes) == [(100 * i + 10 + me, i = 0, pes - 1)]), 'what alltoalls gives')
        call tshmem_barrier_all()
    end subroutine

    ! On a word of the next PE, which this one alone changes; v(2:) gets what is fetched.
    subroutine atomics()
        integer(c_int64_t), pointer, contiguous :: v(:)
        real(c_float), pointer, contiguous :: r(:)
        integer(c_int64_t) :: seen(16)
        real(c_float) :: reals(4)
        call c_f_pointer(symmetric(16 * 8), v, [16])
        call c_f_pointer(symmetric(4 * 4), r, [4])
        call tshmem_put(v, [7_c_int64_t, (0_c_int64_t, i = 2, 16)], 16, me)
        call tshmem_put(r, [1.5, 0.0, 0.0, 0.0], 4, me)
        call tshmem_barrier_all()
        call expect(tshmem_atomic_fetch_on_stream(v(2), v(1), next, stream) == 0, 'fetch')
        call expect(tshmem_atomic_fetch_add_on_stream(v(3), v(1), 5_c_int64_t, next, stream) == 0, 'fetch_add')
        call expect(tshmem_atomic_add_on_stream(v(1), -2_c_int64_t, next, stream) == 0, 'add')
        call expect(tshmem_atomic_compare_swap_on_stream(v(4), v(1), 10_c_int64_t, 12_c_int64_t, next, stream) == 0, 'cswap')
        call expect(tshmem_atomic_fetch_and_on_stream(v(5), v(1), 6_c_int64_t, next, stream) == 0, 'fetch_and')
        call expect(tshmem_atomic_or_on_stream(v(1), 3_c_int64_t, next, stream) == 0, 'or')
        call expect(tshmem_atomic_fetch_xor_on_stream(v(6), v(1), 1_c_int64_t, next, stream) == 0, 'fetch_xor')
        call expect(tshmem_atomic_fetch_inc_on_stream(v(7), v(1), next, stream) == 0, 'fetch_inc')
        call expect(tshmem_atomic_inc_on_stream(v(1), next, stream) == 0, 'inc')
        call expect(tshmem_atomic_swap_on_stream(v(8), v(1), 20_c_int64_t, next, stream) == 0, 'swap')
        call expect(tshmem_atomic_set_on_stream(v(1), 15_c_int64_t, next, stream) == 0, 'set')
        call expect(tshmem_atomic_and_on_stream(v(1), 6_c_int64_t, next, stream) == 0, 'and')
        call expect(tshmem_atomic_fetch_or_on_stream(v(9), v(1), 9_c_int64_t, next, stream) == 0, 'fetch_or')
        call expect(tshmem_atomic_xor_on_stream(v(1), 4_c_int64_t, next, stream) == 0, 'xor')
        call expect(tshmem_atomic_fetch_on_stream(v(10), v(1), next, stream) == 0, 'fetch')
        call expect(tshmem_atomic_add_on_stream(r(1), 0.25, next, stream) == 0, 'add of reals')
        call expect(tshmem_atomic_fetch_add_on_stream(r(2), r(1), 2.0, next, stream) == 0, 'fetch_add of reals')
        call expect(tshmem_atomic_fetch_on_stream(r(3), r(1), next, stream) == 0, 'fetch of reals')
        call expect(tshmem_fence_on_stream(stream) == 0 .and. tshmem_pe_quiet_on_stream(next, stream) == 0, 'order')
        call expect(tshmem_signal_set_on_stream(v(12), 4_c_int64_t, next, stream) == 0, 'signal_set')
        call expect(tshmem_signal_add_on_stream(v(12), 5_c_int64_t, next, stream) == 0, 'signal_add')
        call expect(tshmem_signal_wait_until_on_stream(v(12), TSHMEM_CMP_EQ, 9_c_int64_t, stream) == 0, 'signal_wait')
        call expect(tshmem_signal_fetch_on_stream(v(13), v(12), stream) == 0, 'signal_fetch')
        call expect(tutti_stream_sync(stream) == 0, 'sync')
        call tshmem_get(seen, v, 16, me)
        call tshmem_get(reals, r, 4, me)
        call expect(all(seen(2:10) == [7_c_int64_t, 7_c_int64_t, 10_c_int64_t, 12_c_int64_t, 7_c_int64_t, 6_c_int64_t, &
                                       8_c_int64_t, 6_c_int64_t, 11_c_int64_t]), 'what atomics fetch')
        call expect(all(reals(2:3) == [1.75, 3.75]), 'what atomics of reals fetch')
        call expect(seen(13) == 9, 'what signal_fetch gives')
        call tshmem_barrier_all()
    end subroutine

    ! Words 1 to 4, which the PE before sets; word 3 comes first, and 2 is left out where words are.
    subroutine words()
        integer(c_int16_t), pointer, contiguous :: w(:), values(:)
        integer(c_size_t), pointer, contiguous :: indices(:), found(:)
        integer, pointer, contiguous :: status(:), holds(:)
        integer(c_size_t) :: numbers(8), many(8)
        integer :: answers(8)
        integer(c_int16_t), parameter :: none = 0, one = 1
        call c_f_pointer(symmetric(8 * 2), w, [8])
        call c_f_pointer(symmetric(8 * 2), values, [8])
        call c_f_pointer(symmetric(8 * 8), indices, [8])
        call c_f_pointer(symmetric(8 * 8), found, [8])
        call c_f_pointer(symmetric(8 * 4), status, [8])
        call c_f_pointer(symmetric(8 * 4), holds, [8])
        call tshmem_put(w, [(none, i = 1, 8)], 8, me)
        call tshmem_put(values, [(int(i, c_int16_t), i = 1, 8)], 8, me)
        call tshmem_put(status, [0, 1, 0, 0, 0, 0, 0, 0], 8, me)
        call tshmem_barrier_all()
        call expect(tshmem_test_any_on_stream(found(1), w, 4, status, TSHMEM_CMP_NE, none, stream) == 0, 'test_any')
        call expect(tshmem_test_some_vector_on_stream(found(2), w, 4, indices, status, TSHMEM_CMP_NE, values, stream) == 0, &
                    'test_some_vector')
        call expect(tshmem_test_on_stream(holds(1), w(1), TSHMEM_CMP_EQ, none, stream) == 0, 'test')
        call expect(tshmem_test_all_on_stream(holds(2), w, 4, status, TSHMEM_CMP_GT, none, stream) == 0, 'test_all')
        call expect(tshmem_sync_all_on_stream(stream) == 0, 'all have looked')
        call expect(tshmem_p_on_stream(w(3), 3_c_int16_t, next, stream) == 0, 'p')
        call expect(tshmem_wait_until_any_on_stream(found(3), w, 4, status, TSHMEM_CMP_GE, one, stream) == 0, 'any')
        call expect(tshmem_wait_until_some_on_stream(found(4), w, 4, indices(5:), status, TSHMEM_CMP_GE, one, stream) == 0, &
                    'some')
        call expect(tshmem_wait_until_any_vector_on_stream(found(5), w, 4, status, TSHMEM_CMP_EQ, values, stream) == 0, &
                    'any_vector')
        call expect(tshmem_sync_all_on_stream(stream) == 0, 'all have looked')
        call expect(tshmem_p_on_stream(w(1), one, next, stream) == 0, 'p')
        call expect(tshmem_p_on_stream(w(4), 4_c_int16_t, next, stream) == 0, 'p')
        call expect(tshmem_wait_until_all_vector_on_stream(w, 4, status, TSHMEM_CMP_EQ, values, stream) == 0, 'all_vector')
        call expect(tshmem_wait_until_all_on_stream(w, 4, status, TSHMEM_CMP_GT, none, stream) == 0, 'all')
        call expect(tshmem_wait_until_some_vector_on_stream(found(6), w, 4, indices(6:), status, TSHMEM_CMP_EQ, values, &
                                                            stream) == 0, 'some_vector')
        call expect(tshmem_test_any_vector_on_stream(found(7), w, 4, status, TSHMEM_CMP_NE, values, stream) == 0, 'none')
        call expect(tshmem_test_all_vector_on_stream(holds(3), w, 4, status, TSHMEM_CMP_EQ, values, stream) == 0, 'test_all')
        call expect(tshmem_test_some_on_stream(found(8), w, 4, indices(5:), status, TSHMEM_CMP_LT, none, stream) == 0, 'none')
        call expect(tshmem_wait_until_on_stream(w(4), TSHMEM_CMP_EQ, 4_c_int16_t, stream) == 0, 'one')
        call expect(tutti_stream_sync(stream) == 0, 'sync')
        call tshmem_get(many, found, 8, me)
        call tshmem_get(numbers, indices, 8, me)
        call tshmem_get(answers, holds, 8, me)
        call expect(many(1) == 0 .and. many(7) == 0 .and. many(8) == 0, 'none of the words')
        call expect(many(2) == 3 .and. all(numbers(1:3) == [1, 3, 4]), 'some that differ from their values')
        call expect(many(3) == 3 .and. many(4) == 1 .and. many(5) == 3, 'the one that came first')
        call expect(numbers(5) == 3, 'its number')
        call expect(many(6) == 3 .and. all(numbers(6:8) == [1, 3, 4]), 'those that have their values')
        call expect(all(answers(1:3) == [1, 0, 1]), 'what tests say')
        call tshmem_barrier_all()
    end subroutine

    integer function all_xor() result(all)
        all = 0
        do i = 0, pes - 1
            all = ieor(all, 10 * i + 1)
        end do
    end function

    integer(c_int64_t) function scanned(pe)
        integer, intent(in) :: pe
        scanned = (pe + 1) * (pe + 2) / 2 * 5000000000_c_int64_t
    end function
end program
