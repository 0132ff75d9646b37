! What the tests of the module tutti_shmem share.
module kit_fortran
    use, intrinsic :: iso_c_binding
    use tutti_shmem
    implicit none
    integer :: me, pes, next, before, wrong = 0
contains
    subroutine kit_open()
        me = tshmem_my_pe()
        pes = tshmem_n_pes()
        next = mod(me + 1, pes)
        before = mod(me + pes - 1, pes)
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        print '(a,i0,a,a)', 'FAILED on PE ', me, ': ', what
        wrong = wrong + 1
    end subroutine

    function symmetric(bytes) result(memory)
        integer, intent(in) :: bytes
        type(c_ptr) :: memory
        memory = tshmem_calloc(1_c_size_t, int(bytes, c_size_t))
        if (.not. c_associated(memory)) call tshmem_global_exit(1)
    end function
end module
