/* The compiled packing kernel for CUDA as read-only data (see pack.h). */
        .section .rodata
        .balign 64
        .globl  tutti_pack_fatbin_begin
        .hidden tutti_pack_fatbin_begin
tutti_pack_fatbin_begin:
        .incbin "pack.fatbin"
        .byte   0

        .section .note.GNU-stack, "", %progbits
