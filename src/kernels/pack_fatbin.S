/* The compiled packing kernels for CUDA as read-only data, an image each (see pack.h). */
        .macro  image name, file
        .balign 64
        .globl  tutti_\name\()_fatbin_begin
        .hidden tutti_\name\()_fatbin_begin
tutti_\name\()_fatbin_begin:
        .incbin "\file"
        .byte   0
        .endm

        .section .rodata
        image   pack_few, pack_few.fatbin
        image   pack_stay, pack_stay.fatbin
        image   pack, pack.fatbin

        .section .note.GNU-stack, "", %progbits
