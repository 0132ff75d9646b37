/* The compiled kernel in which ranks meet, for CUDA as read-only data (see meet.h). */
        .section .rodata
        .balign 64
        .globl  tutti_meet_fatbin_begin
        .hidden tutti_meet_fatbin_begin
tutti_meet_fatbin_begin:
        .incbin "meet.fatbin"
        .byte   0

        .section .note.GNU-stack, "", %progbits
