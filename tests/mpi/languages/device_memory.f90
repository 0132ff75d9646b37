! Device memory for the Fortran tests, by Tutti's C interface.
module device_memory
    use iso_c_binding
    implicit none
    interface
        function tutti_alloc(bytes, device) bind(c) result(status)
            import
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: device
            integer(c_int) :: status
        end function
        function tutti_free(device) bind(c) result(status)
            import
            type(c_ptr), value :: device
            integer(c_int) :: status
        end function
        function tutti_copy(to, from, bytes) bind(c) result(status)
            import
            type(c_ptr), value :: to, from
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function
        ! Accelerated calls so far; counted.c.
        function counted() bind(c)
            import
            integer(c_int) :: counted
        end function
    end interface
contains
    function device_array(n) result(array)
        integer, intent(in) :: n
        real(8), pointer, contiguous :: array(:)
        type(c_ptr) :: memory
        if (tutti_alloc(int(n, c_size_t) * 8, memory) /= 0) stop 2
        call c_f_pointer(memory, array, [n])
    end function

    subroutine device_free(array)
        real(8), pointer, contiguous, intent(in) :: array(:)
        if (tutti_free(c_loc(array)) /= 0) stop 3
    end subroutine

    subroutine to_device(array, host)
        real(8), pointer, contiguous, intent(in) :: array(:)
        real(8), intent(in), target, contiguous :: host(:)
        if (tutti_copy(c_loc(array), c_loc(host), int(size(host), c_size_t) * 8) /= 0) stop 4
    end subroutine

    subroutine to_host(host, array)
        real(8), intent(out), target, contiguous :: host(:)
        real(8), pointer, contiguous, intent(in) :: array(:)
        if (tutti_copy(c_loc(host), c_loc(array), int(size(host), c_size_t) * 8) /= 0) stop 5
    end subroutine
end module
