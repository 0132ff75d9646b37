/* The compiled kernels for CUDA as read-only data, by the images of images.inc (see fatbin.h). */
        .macro  image number
        .balign 64
        .globl  tutti_fatbin_begin_\number
        .globl  tutti_fatbin_end_\number
        .hidden tutti_fatbin_begin_\number
        .hidden tutti_fatbin_end_\number
tutti_fatbin_begin_\number:
        .incbin "kernels_\number\().fatbin"
tutti_fatbin_end_\number:
        .byte   0
        .endm

        .section .rodata
        image   0
        image   1
        image   2
        image   3
        image   4
        image   5

        .section .note.GNU-stack, "", %progbits
