/* The compiled kernels for CUDA as read-only data, by the images of fatbin.h. */
        .macro  image name
        .balign 64
        .globl  tutti_fatbin_begin_\name
        .globl  tutti_fatbin_end_\name
        .hidden tutti_fatbin_begin_\name
        .hidden tutti_fatbin_end_\name
tutti_fatbin_begin_\name:
        .incbin "\name\().fatbin"
tutti_fatbin_end_\name:
        .byte   0
        .endm

        .macro  groups part
        .irp    group, 0, 1, 2, 3, 4, 5
        image   \part\()_\group
        .endr
        .endm

        .section .rodata
        groups  packets
        groups  sums
        groups  plain
        groups  large
        groups  lead
        image   moves

        .section .note.GNU-stack, "", %progbits
