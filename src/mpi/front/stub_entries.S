/* The names that the stub exports, as far as stub_names.c does not hide them. MPI_x jumps through the outer table and
 * PMPI_x through the inner one; both lead to the same place unless a profiling library lies between Tutti and the MPI.
 * Until the MPI is known, each slot of the tables leads to a resolver that saves whatever carries arguments and calls
 * tutti_stub_resolve(). */
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
    .text

#if defined(__x86_64__)

/* r11: address of the slot. Arguments lie in rdi rsi rdx rcx r8 r9 (and on the stack, untouched); xmm registers and rax
 * are saved too, so that any signature passes. */
    .type tutti_stub_first, @function
tutti_stub_first:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rsp
    subq $208, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r11, 56(%rsp)
    movq %r10, 64(%rsp)
    movups %xmm0, 80(%rsp)
    movups %xmm1, 96(%rsp)
    movups %xmm2, 112(%rsp)
    movups %xmm3, 128(%rsp)
    movups %xmm4, 144(%rsp)
    movups %xmm5, 160(%rsp)
    movups %xmm6, 176(%rsp)
    movups %xmm7, 192(%rsp)
    movq %r11, %rdi
    call tutti_stub_resolve
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 56(%rsp), %r11
    movq 64(%rsp), %r10
    movups 80(%rsp), %xmm0
    movups 96(%rsp), %xmm1
    movups 112(%rsp), %xmm2
    movups 128(%rsp), %xmm3
    movups 144(%rsp), %xmm4
    movups 160(%rsp), %xmm5
    movups 176(%rsp), %xmm6
    movups 192(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *(%r11)
    .cfi_endproc
    .size tutti_stub_first, .-tutti_stub_first

#define JUMP(slot)        endbr64; jmp *slot(%rip)
#define FIRST(slot)       leaq slot(%rip), %r11; jmp tutti_stub_first
#define SHOW(entry)       endbr64; leaq entry(%rip), %rdi; jmp tutti_stub_show
#define LACKING(slot)     endbr64; leaq slot(%rip), %rdi; andq $-16, %rsp; call tutti_stub_lacking; ud2

#elif defined(__aarch64__)

/* x17: address of the slot. Arguments lie in x0 to x7, x8 (address of a result) and q0 to q7. */
    .type tutti_stub_first, @function
tutti_stub_first:
    .cfi_startproc
    stp x29, x30, [sp, #-240]!
    .cfi_def_cfa_offset 240
    .cfi_offset 29, -240
    .cfi_offset 30, -232
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x17, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x0, x17
    bl tutti_stub_resolve
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x8, x17, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #240
    .cfi_def_cfa_offset 0
    .cfi_restore 29
    .cfi_restore 30
    ldr x16, [x17]
    br x16
    .cfi_endproc
    .size tutti_stub_first, .-tutti_stub_first

#define JUMP(slot)        hint #34; adrp x16, slot; ldr x16, [x16, :lo12:slot]; br x16
#define FIRST(slot)       hint #34; adrp x17, slot; add x17, x17, :lo12:slot; b tutti_stub_first
#define SHOW(entry)       hint #34; adrp x0, entry; add x0, x0, :lo12:entry; b tutti_stub_show
#define LACKING(slot)     hint #34; adrp x0, slot; add x0, x0, :lo12:slot; bl tutti_stub_lacking; brk #0

#else
#error "the stub has no entry for this processor: add JUMP, FIRST and LACKING"
#endif

/* Of each call two entries of 16 bytes, then two resolvers of 16 bytes in the same order: stub_names.c counts on it. */
    .balign 16
    .globl tutti_stub_entries
    .hidden tutti_stub_entries
tutti_stub_entries:
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) \
    .globl name; .globl P##name; .type name, %function; .type P##name, %function; .balign 16; \
    name: .Lentry_##name: JUMP(.Louter_##name); \
    .size name, .-name; .balign 16; \
    P##name: .Lprofiling_##name: JUMP(.Lslot_##name); \
    .size P##name, .-P##name;
#include "mpi/real/calls.inc"

    .balign 16
    .globl tutti_stub_resolvers
    .hidden tutti_stub_resolvers
tutti_stub_resolvers:
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) \
    .balign 16; SHOW(.Lentry_##name); .balign 16; SHOW(.Lprofiling_##name);
#include "mpi/real/calls.inc"

#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) \
    .Lfirst_##name: FIRST(.Lslot_##name); \
    .Lfirst_outer_##name: FIRST(.Louter_##name); \
    .Llacking_##name: LACKING(.Lslot_##name);
#include "mpi/real/calls.inc"

    .data
    .balign 64
    .globl tutti_stub_table
    .hidden tutti_stub_table
tutti_stub_table:
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) .Lslot_##name: .quad .Lfirst_##name;
#include "mpi/real/calls.inc"

    .balign 64
    .globl tutti_stub_outer
    .hidden tutti_stub_outer
tutti_stub_outer:
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) .Louter_##name: .quad .Lfirst_outer_##name;
#include "mpi/real/calls.inc"

    .section .data.rel.ro, "aw"
    .balign 8
    .globl tutti_stub_lacking_table
    .hidden tutti_stub_lacking_table
tutti_stub_lacking_table:
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) .quad .Llacking_##name;
#include "mpi/real/calls.inc"
