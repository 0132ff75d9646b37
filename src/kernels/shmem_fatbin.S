/* The compiled kernels of the global address space for CUDA as read-only data (see shmem_kernel.h). */
        .section .rodata
        .balign 64
        .globl  tutti_shmem_fatbin_begin
        .hidden tutti_shmem_fatbin_begin
tutti_shmem_fatbin_begin:
        .incbin "shmem.fatbin"
        .byte   0

        .section .note.GNU-stack, "", %progbits
