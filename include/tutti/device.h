/* The global address space inside kernels: the calls of tutti/shmem.h, with the same meaning, made by kernels. Header
 * only: no relocatable device code, nothing to link.
 *
 * In CUDA C++ (nvcc and NVRTC) a call of tutti/shmem.h is made by the calling thread in device code, and is the
 * library's call in host code. Every call but those of one element (p, g, atomics, signal_set, signal_add,
 * signal_fetch) has group forms too, which all threads of the group call with the same arguments:
 *   tshmem_int_put_warp, _block, _work_group (another name of _block) ...
 * Calls with a context (tutti/shmem_ctx.h), which the host has created, have the same forms: tshmem_ctx_int_put_warp.
 * Two groups of one GPU must not run collectives of the same team at the same time; that is an error. Collectives,
 * waits and signals between GPUs need the kernels of all PEs to run at the same time; blocks of one kernel that wait
 * for each other need a cooperative launch. tutti_grid_...: called by all threads of such a grid (tutti/device/grid.h).
 *
 * C and C++ have the group forms as well: they do the same on the host device, where the calling thread is
 * the group. A file that defines TSHMEM_KERNELS gets the calls of threads from here too.
 *
 * Order: puts are stores of all threads of the group. They are complete after quiet, and ordered by fence, of
 * the same group; put_signal orders its own data. A wait orders later accesses after it. Collectives: on return the own
 * result is complete and the source may be used again; only barrier and sync order earlier stores.
 *
 * A PE may put, get and signal any of its own memory that it can store to, and use atomics on its own global memory.
 *
 * Errors: a call that cannot be done (no such PE, not symmetric, no such context, two collectives at once) or that
 * waits longer than the limit sets the abort word: all waits of this PE's kernels end, and the host's next call reports
 * what failed, where and why. Collectives return 0 or a negative status. */
#ifndef TUTTI_DEVICE_H
#define TUTTI_DEVICE_H

#ifdef __CUDACC_RTC__
#ifndef NULL
#define NULL 0
#endif
#endif

#include "tutti/shmem.h"

/* The environment, then each file upon those before it. */
#include "tutti/device/env.h"

#ifndef __CUDACC_RTC__ /* macros of the program by the words that these headers share with tutti/shmem.h */
#include "tutti/words_push.h"
#endif

#include "tutti/device/state.h"

#include "tutti/device/ring.h"

#include "tutti/device/amo.h"
#include "tutti/device/copy.h"
#include "tutti/device/rma.h"
#include "tutti/device/team.h"
#include "tutti/device/wait.h"

#include "tutti/device/barrier.h"

#include "tutti/device/ctx.h"

#include "tutti/device/packet.h"
#include "tutti/device/packets.h"

#include "tutti/device/far.h"

#include "tutti/device/far_move.h"

#include "tutti/device/move.h"
#include "tutti/device/operators.h"
#include "tutti/device/ops.h"

#include "tutti/device/fold.h"

#include "tutti/device/far_reduce.h"

#include "tutti/device/reduce.h"

#include "tutti/device/grid.h"

#include "tutti/device/far_grid.h"

/* ---- one thread: the names of tutti/shmem.h ---- */

#if defined(__CUDA_ARCH__) || (defined(TSHMEM_KERNELS) && !defined(__CUDACC__))
#ifdef __CUDA_ARCH__
#define TSHMEM_FORM __host__ __device__ __forceinline__
#else
#define TSHMEM_FORM static inline
#endif
#define TSHMEM_DO(call) call
#define TSHMEM_GROUP    TUTTI_BY_THREAD
#include "tutti/device/forms.h"
#include "tutti/device/forms_ctx.h"
#include "tutti/device/thread.h"
#undef TSHMEM_FORM
#undef TSHMEM_DO
#undef TSHMEM_GROUP
#endif

/* ---- groups ---- */

#define TSHMEM_GROUP_FORMS
#define TSHMEM_FORM TUTTI_DEV
#undef TSHMEM_INLINE
#define TSHMEM_INLINE TUTTI_DEV

#define TSHMEM_GROUP            TUTTI_BY_WARP
#define TSHMEM_DO(call)         call##_warp
#define TSHMEM_NAME(type, call) tshmem_##type##_##call##_warp
#define TSHMEM_PLAIN(call)      tshmem_##call##_warp
#define TSHMEM_ENDED(call)      call##_warp
#include "tutti/device/forms.h"
#include "tutti/shmem_typed.h"

#include "tutti/device/forms_ctx.h"
#include "tutti/device/typed_ctx.h"

#include "tutti/device/generic.h"
#undef TSHMEM_GROUP
#undef TSHMEM_DO
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_ENDED

#define TSHMEM_GROUP            TUTTI_BY_BLOCK
#define TSHMEM_DO(call)         call##_block
#define TSHMEM_NAME(type, call) tshmem_##type##_##call##_block
#define TSHMEM_PLAIN(call)      tshmem_##call##_block
#define TSHMEM_ENDED(call)      call##_block
#include "tutti/device/forms.h"
#include "tutti/shmem_typed.h"

#include "tutti/device/forms_ctx.h"
#include "tutti/device/typed_ctx.h"

#include "tutti/device/generic.h"
#undef TSHMEM_GROUP
#undef TSHMEM_DO
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_ENDED

#define TSHMEM_GROUP            TUTTI_BY_BLOCK
#define TSHMEM_DO(call)         call##_work_group
#define TSHMEM_NAME(type, call) tshmem_##type##_##call##_work_group
#define TSHMEM_PLAIN(call)      tshmem_##call##_work_group
#define TSHMEM_ENDED(call)      call##_work_group
#include "tutti/device/forms.h"
#include "tutti/shmem_typed.h"

#include "tutti/device/forms_ctx.h"
#include "tutti/device/typed_ctx.h"

#include "tutti/device/generic.h"
#undef TSHMEM_GROUP
#undef TSHMEM_DO
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_ENDED

#undef TSHMEM_GROUP_FORMS
#undef TSHMEM_FORM
#undef TSHMEM_INLINE
#define TSHMEM_INLINE TSHMEM_HERE

#ifndef __CUDACC_RTC__
#include "tutti/words_pop.h"
#endif
#endif
