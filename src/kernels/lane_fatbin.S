/* The compiled lane kernel for CUDA as read-only data (see lane.h). */
        .section .rodata
        .balign 64
        .globl  tutti_lane_fatbin_begin
        .hidden tutti_lane_fatbin_begin
tutti_lane_fatbin_begin:
        .incbin "lane.fatbin"
        .byte   0

        .section .note.GNU-stack, "", %progbits
