/* The compiled kernels for CUDA as read-only data, by the images of images.inc, and that of the kernels that move data
 * (see fatbin.h). */
        .macro  image number, file
        .balign 64
        .globl  tutti_fatbin_begin_\number
        .globl  tutti_fatbin_end_\number
        .hidden tutti_fatbin_begin_\number
        .hidden tutti_fatbin_end_\number
tutti_fatbin_begin_\number:
        .incbin "\file"
tutti_fatbin_end_\number:
        .byte   0
        .endm

        .section .rodata
        image   0, kernels_0.fatbin
        image   1, kernels_1.fatbin
        image   2, kernels_2.fatbin
        image   3, kernels_3.fatbin
        image   4, kernels_4.fatbin
        image   5, kernels_5.fatbin
        image   6, moves.fatbin

        .section .note.GNU-stack, "", %progbits
