! The module tutti_shmem in the order of a stream: a ring of puts with signals, collectives and reductions of several
! types, put into the stream one after the other and looked at once. Heaps in memory of GPUs. From 2 to 8 PEs.
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
    call expect(tshmem_error() == 0, 'no error')
    call tshmem_barrier_all()
    call expect(tutti_stream_destroy(stream) == 0, 'the stream ends')
    if (me == 0 .and. wrong == 0) print '(a,i0,a)', 'Fortran in stream order on ', pes, ' PEs: passed'
    if (tshmem_finalize() /= 0 .or. wrong /= 0) stop 1
contains
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
