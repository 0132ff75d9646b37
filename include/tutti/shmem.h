/* The global address space: OpenSHMEM 1.5's calls as tshmem_*, for C and C++, on any MPI, without MPI_THREAD_MULTIPLE.
 * Every process of a communicator becomes a processing element (PE) with a heap that all PEs reach: those of its node
 * by loads and stores, others by messages.
 *
 * Link with -ltutti-core, and start the program with libtutti.so in front (tutti run). <tutti/shmem_names.h> gives the
 * same calls as shmem_*. What is not there yet: docs/shmem.md.
 *
 * Words used below:
 * - *Symmetric address*: an address in this PE's heap, from tshmem_malloc() and related calls. A call that
 * names another PE accesses the same object in the heap of that PE. Static variables are not symmetric.
 * - *Collective over a team*: all its PEs make the call, in the same order and with the same arguments unless the call
 * says otherwise; two collectives of one team never run at the same time. Arguments that differ are an error on all
 * PEs.
 * - *Local*: the call needs no other PE.
 *
 * Counts are elements, and bytes in the calls that end in mem. Heaps lie in memory of GPUs, or in memory that the
 * program may load and store (TUTTI_SHMEM_HEAP). Sources of puts and targets of gets are host memory, or with heaps on
 * GPUs memory of a GPU too; single elements, and what atomics, waits and tests take and give besides symmetric
 * addresses, are host memory.
 *
 * Order: puts, gets and atomics are complete on return. Exception: puts, signals and atomics that fetch nothing, to PEs
 * of other nodes, are complete after tshmem_quiet() or a barrier; their source may be changed on return. PEs of other
 * nodes must call Tutti, or have a thread that does (TUTTI_ASYNC_PROGRESS), for such operations to complete. The nbi
 * forms of put, get and put_signal are complete after tshmem_quiet(), a fence or a barrier; leave source and target
 * alone until then. Another PE sees the data of two puts in their order only if the sender calls tshmem_fence() or
 * tshmem_quiet() between them and the reader waits.
 *
 * Errors are printed on standard error. Calls that return an int return 0 or a negative status (tutti_status_text()),
 * calls that return a pointer NULL; other calls do nothing. The first status is kept for tshmem_error().
 * TUTTI_SHMEM_ERRORS=abort: an error ends the program, which is the default for OpenSHMEM's names. A PE that dies,
 * or waits longer than TUTTI_TIMEOUT_SECONDS, ends the address space: all further calls return errors. */
#ifndef TUTTI_SHMEM_H
#define TUTTI_SHMEM_H

/* What is not Tutti's, before macros of the program are set aside. */
#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <stdint.h>
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#ifdef MPI_VERSION
#include <dlfcn.h>
#endif
#include "tutti/words_push.h"
#endif

#include "tutti/shmem_state.h"

#include "tutti/shmem_types.h"
#ifdef __CUDACC_RTC__
#define TUTTI_API
#else
#include "tutti/tutti.h"
#endif

/* TSHMEM_CALL: a call that kernels have too, where tutti/device.h says what it does. TSHMEM_INLINE: made of such calls,
 * and in tutti/device.h of those of a group. A file of C that defines TSHMEM_KERNELS is kernels of the host device: it
 * has the calls as kernels do, without the library. */
#if defined(__CUDACC__)
#define TSHMEM_HERE static inline __attribute__((unused)) __host__ __device__
#define TSHMEM_CALL TUTTI_API __host__ __device__
#elif defined(TSHMEM_KERNELS)
#define TSHMEM_HERE static inline __attribute__((unused))
#define TSHMEM_CALL static inline __attribute__((unused))
#else
#define TSHMEM_HERE static inline
#define TSHMEM_CALL TUTTI_API
#endif
#define TSHMEM_INLINE TSHMEM_HERE

#ifdef __cplusplus
extern "C" {
#endif

/* ---- begin and end ---- */

/* Collective over MPI_COMM_WORLD, blocking. Makes the address space; begins the MPI where the program has not, with
 * MPI_THREAD_MULTIPLE where the MPI has it. Heaps of TUTTI_SHMEM_HEAP_MB MiB, the same on all PEs; they grow, up to
 * TUTTI_SHMEM_HEAP_MOST_MB. Again, while it is up: counts, and nothing else. */
TUTTI_API int tshmem_init(void);
/* Collective, as tshmem_init(). *provided: the level that the MPI gives, which may be more or less than `requested`;
 * less is no error. */
TUTTI_API int tshmem_init_thread(int requested, int *provided);
/* Local. */
TUTTI_API void tshmem_query_thread(int *provided);
/* Local, at any time. *initialized: 1 if the address space is up, otherwise 0. */
TUTTI_API void tshmem_query_initialized(int *initialized);
/* Collective over all PEs, blocking: waits for all, and frees everything. The last of as many calls as there were of
 * init; also MPI_Finalize where tshmem_init() called MPI_Init. */
TUTTI_API int tshmem_finalize(void);
/* Local. Ends the program on all PEs with that status, after exit handlers have run and streams of stdio are written
 * here, and on those of this node that wait in a call of Tutti's; a handler that hangs is given 3 s. No PE
 * returns from a call. */
TUTTI_API void tshmem_global_exit(int status) __attribute__((noreturn));
/* Local. The first error since the last time that this was asked, and forgets it; 0: none. */
TUTTI_API int tshmem_error(void);
/* Local. -1 and 0 if the address space is not up. */
TSHMEM_CALL int tshmem_my_pe(void);
TSHMEM_CALL int tshmem_n_pes(void);
TUTTI_API void tshmem_info_get_version(int *major, int *minor);
TUTTI_API void tshmem_info_get_name(char *name); /* at least TSHMEM_MAX_NAME_LEN bytes */
/* Local, before tshmem_init(): called by libtutti-openshmem's shmem_init(), for programs written for OpenSHMEM. They
 * load and store symmetric memory themselves: without TUTTI_SHMEM_HEAP heaps are in host memory, and with such heaps
 * the program's static variables (not those of shared libraries) are symmetric. */
TUTTI_API void tutti_shmem_openshmem(void);
/* Local, before tshmem_init(): what they call for other programs with OpenSHMEM's names. Errors name the calls by
 * those, end the program (TUTTI_SHMEM_ERRORS), and OpenSHMEM's environment variables are read. tutti_shmem_openshmem()
 * does that, too. */
TUTTI_API void tutti_shmem_named(void);
/* Collective: shmem_init() and start_pes(). tshmem_init(), but where that fails the program ends with a status that is
 * not 0. start_pes: nothing where it was called before, or the address space is up; at exit() the address space ends
 * without a call of tshmem_finalize(), as by one: all PEs must reach their end. */
TUTTI_API void tutti_shmem_init_or_end(void);
TUTTI_API void tutti_shmem_start_pes(void);
/* Local. How errors name the calls of this thread, for what is made of several; NULL: by their own names again. The
 * text must stay. */
TUTTI_API void tutti_shmem_as(const char *call);
/* Local. Says that libtutti.so is not in front of an MPI; TUTTI_ERR_UNAVAILABLE. */
TUTTI_API int tutti_shmem_no_front(const char *call);
/* Collective: tshmem_init_comm() with a communicator of Fortran, for Tutti's Fortran module. */
TUTTI_API int tutti_shmem_init_fortran(int comm);
/* Local. 1 if the PE exists; where the address is symmetric, too. */
TSHMEM_CALL int tshmem_pe_accessible(int pe);
TSHMEM_CALL int tshmem_addr_accessible(const void *address, int pe);
/* Local. The object at symmetric `dest` of that PE, for plain loads and stores; NULL if they do not reach it. */
TSHMEM_CALL void *tshmem_ptr(const void *dest, int pe);
/* Local. What kernels need (tutti/device.h); NULL if the address space is not up. */
TUTTI_API const struct tshmem_state *tshmem_state_get(void);
/* Local. `take` is called with the state when the address space is made, or at once where it is up; and with NULL when
 * it ends. What it returns is an error where negative. At most 256. */
TUTTI_API int tshmem_register_module(int (*take)(const struct tshmem_state *state));

/* Local. Has no effect, as Tutti has no profiler of its own; a negative level is an error. */
TUTTI_API void tshmem_pcontrol(int level, ...);

/* ---- memory: collective over all PEs ---- */

/* Waits for all PEs before it returns. Aligned to 128 bytes. NULL if no heap has room, or if the sizes of the
 * PEs differ (an error on all of them; nothing is allocated). 0 bytes, here and below: NULL, and no PE waits. */
TUTTI_API void *tshmem_malloc(size_t bytes);
TUTTI_API void *tshmem_calloc(size_t count, size_t bytes);
/* alignment: a power of two, at most 2 MiB with heaps on GPUs and 64 MiB otherwise. */
TUTTI_API void *tshmem_align(size_t alignment, size_t bytes);
/* The new object holds this PE's data of the old one. NULL: the old one is unchanged, or freed where `bytes` is 0. */
TUTTI_API void *tshmem_realloc(void *address, size_t bytes);
/* hints: what the object is for, which makes no difference here. */
TUTTI_API void *tshmem_malloc_with_hints(size_t bytes, long hints);
/* Waits for all PEs before it frees. NULL: nothing, and no PE waits. Another address than tshmem_malloc() gave is an
 * error. */
TUTTI_API void tshmem_free(void *address);

/* ---- order: local ---- */

/* What this PE has put to a PE before is seen there before what it puts to the same PE later. */
TSHMEM_CALL void tshmem_fence(void);
/* Everything that this PE has put, got and added is complete on all PEs; of one PE. */
TSHMEM_CALL void tshmem_quiet(void);
TSHMEM_CALL void tshmem_pe_quiet(int pe);

/* ---- put and get: local. The typed forms are below ---- */

TSHMEM_CALL void tshmem_putmem(void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_getmem(void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe);
TSHMEM_CALL void tshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe);

/* ---- signals: 64-bit words in the heap ---- */

/* Local. Puts, then sets or adds to the signal at the same PE: a PE that sees the signal by a wait sees the data. */
TSHMEM_CALL void tshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value,
                                      int operation, int pe);
TSHMEM_CALL void tshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *signal,
                                          uint64_t value, int operation, int pe);
TSHMEM_CALL void tshmem_signal_set(uint64_t *signal, uint64_t value, int pe);
TSHMEM_CALL void tshmem_signal_add(uint64_t *signal, uint64_t value, int pe);
/* Local. The signal of this PE as it is now. */
TSHMEM_CALL uint64_t tshmem_signal_fetch(const uint64_t *signal);
/* Waits for another PE or thread: until this PE's signal compares with `value` as `comparison` (TSHMEM_CMP_...)
 * demands. Returns the signal. */
TSHMEM_CALL uint64_t tshmem_signal_wait_until(uint64_t *signal, int comparison, uint64_t value);

/* ---- locks: symmetric, of a PE; zero at first, and left alone by all else ---- */

/* Waits for the PEs before this one: until this PE alone has the lock. PEs get it in the order of their arrival. */
TUTTI_API void tshmem_set_lock(long *lock);
/* Local. 0 if this PE has the lock now, 1 if a PE has it already. Does not wait. */
TUTTI_API int tshmem_test_lock(long *lock);
/* Local. Completes what this PE has put before, as tshmem_quiet(), and passes the lock to the PE that has waited
 * longest. */
TUTTI_API void tshmem_clear_lock(long *lock);

/* ---- teams ---- */

/* Local. -1 if the team is not valid, or this PE none of it. */
TSHMEM_CALL int tshmem_team_my_pe(tshmem_team_t team);
TSHMEM_CALL int tshmem_team_n_pes(tshmem_team_t team);
TUTTI_API int tshmem_team_get_config(tshmem_team_t team, long mask, tshmem_team_config_t *config);
/* Local. The number in `to` of PE `pe` of `from`; -1 if the PE is not in `to`. */
TSHMEM_CALL int tshmem_team_translate_pe(tshmem_team_t from, int pe, tshmem_team_t to);
/* Local. tshmem_ptr() of a PE of the team, as OpenSHMEM 1.6 has it. */
TSHMEM_HERE void *tshmem_team_ptr(tshmem_team_t team, const void *dest, int pe)
{
    const int world = tshmem_team_translate_pe(team, pe, TSHMEM_TEAM_WORLD);
    return world < 0 ? (void *)0 : tshmem_ptr(dest, world);
}
/* Collective over `parent`. PEs start, start + stride ... (size of them; stride may be negative) of the parent become a
 * team; the others get TSHMEM_TEAM_INVALID and 0. At most TSHMEM_TEAMS_MAX - 3 teams of one PE at a time. mask
 * TSHMEM_TEAM_NUM_CONTEXTS: config->num_contexts, up to TSHMEM_CONTEXTS_MAX - 1, is kept; contexts are shared by all
 * teams of a PE. */
TUTTI_API int tshmem_team_split_strided(tshmem_team_t parent, int start, int stride, int size,
                                        const tshmem_team_config_t *config, long mask, tshmem_team_t *made);
/* Collective over `parent`: rows of `xrange` PEs in order, and the columns over them. */
TUTTI_API int tshmem_team_split_2d(tshmem_team_t parent, int xrange, const tshmem_team_config_t *xconfig, long xmask,
                                   tshmem_team_t *xteam, const tshmem_team_config_t *yconfig, long ymask,
                                   tshmem_team_t *yteam);
/* Collective over `team`, which must not be one of the three teams above. Its contexts end with it. */
TUTTI_API void tshmem_team_destroy(tshmem_team_t team);
/* Collective: tshmem_team_from_comm() with a communicator of Fortran, for Tutti's Fortran module. */
TUTTI_API int tutti_shmem_team_from_fortran(int comm, tshmem_team_t *made);

/* ---- collectives: dest and source are symmetric and the same on all PEs; 0 or a negative status ---- */

/* sync: waits for all PEs of the team, without tshmem_quiet(); barrier: with it. */
TSHMEM_CALL int tshmem_team_sync(tshmem_team_t team);
TSHMEM_CALL int tshmem_sync(tshmem_team_t team);
TSHMEM_CALL int tshmem_barrier(tshmem_team_t team);
TSHMEM_CALL void tshmem_sync_all(void);
TSHMEM_CALL void tshmem_barrier_all(void);
/* All calls below wait for all PEs at their beginning and at their end: what any PE had stored into the objects before
 * is read, results may be used, and sources changed, on return. dest and source may be the same object in broadcast,
 * the reductions and scans; in the others they do not overlap. */
TSHMEM_CALL int tshmem_broadcastmem(tshmem_team_t team, void *dest, const void *source, size_t bytes, int root);
/* collect: each PE may bring another count. Blocks in order of PE. */
TSHMEM_CALL int tshmem_collectmem(tshmem_team_t team, void *dest, const void *source, size_t bytes);
TSHMEM_CALL int tshmem_fcollectmem(tshmem_team_t team, void *dest, const void *source, size_t bytes);
/* Block j of source goes to PE j, and there to block i, i being this PE. */
TSHMEM_CALL int tshmem_alltoallmem(tshmem_team_t team, void *dest, const void *source, size_t bytes);

/* ---- what the typed names are made of; programs call those ---- */

#include "tutti/shmem_ids.h"

enum tshmem_amo {
    TSHMEM_AMO_FETCH,
    TSHMEM_AMO_SET,
    TSHMEM_AMO_SWAP,
    TSHMEM_AMO_COMPARE_SWAP,
    TSHMEM_AMO_ADD,
    TSHMEM_AMO_AND,
    TSHMEM_AMO_OR,
    TSHMEM_AMO_XOR,
    TSHMEM_AMO_ADD_FLOAT,
    TSHMEM_AMO_NO_FETCH = 16 /* beside one of them: what was there before is not wanted */
};
/* Which of the words: all, any, some; with one value each; test instead of wait; in streams: numbered from 1. */
enum {
    TSHMEM_WAIT_ALL,
    TSHMEM_WAIT_ANY,
    TSHMEM_WAIT_SOME,
    TSHMEM_WAIT_VECTOR = 4,
    TSHMEM_WAIT_TEST = 8,
    TSHMEM_WAIT_FROM_1 = 16
};

/* Local. One element, stored or loaded at once if it has 1, 2, 4 or 8 bytes. */
TSHMEM_CALL void tutti_shmem_p(void *dest, const void *value, size_t bytes, int pe);
TSHMEM_CALL void tutti_shmem_g(void *value, const void *source, size_t bytes, int pe);
/* Local. n blocks of `block` elements of `bytes` bytes, whose beginnings lie dst and sst elements apart. */
TSHMEM_CALL void tutti_shmem_put_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                        size_t n, size_t bytes, int pe);
TSHMEM_CALL void tutti_shmem_get_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                        size_t n, size_t bytes, int pe);
/* Local. operation: enum tshmem_amo, on 4 or 8 bytes. Returns the value before. */
TSHMEM_CALL uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe);
/* Waits for other PEs or threads, unless `which` has TEST. ANY: an index, of several that hold by turns on the host and
 * the lowest in kernels; SIZE_MAX: none. SOME: how many, and their indices. ALL: 1 or 0. status (may be NULL): words
 * that are not zero there are left out. */
TSHMEM_CALL size_t tutti_shmem_wait(int which, int type, const void *words, size_t n, size_t *indices,
                                    const int *status, int comparison, const void *values);
/* Collective over the team. n elements of `bytes` bytes of each PE; alltoalls: for each PE, dst and sst elements apart.
 */
TSHMEM_CALL int tutti_shmem_broadcast(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes,
                                      int root);
TSHMEM_CALL int tutti_shmem_collect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes);
TSHMEM_CALL int tutti_shmem_fcollect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes);
TSHMEM_CALL int tutti_shmem_alltoalls(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                      size_t n, size_t bytes);
/* Collective over the team. type, op: enum tshmem_type, tshmem_op. */
TSHMEM_CALL int tutti_shmem_reduce(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int op);
TSHMEM_CALL int tutti_shmem_reducescatter(tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                          int op);
TSHMEM_CALL int tutti_shmem_scan(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int exclusive);

#ifdef __cplusplus
}
#endif

/* tshmem_TYPE_put and its like. */
#define TSHMEM_NAME(type, call) tshmem_##type##_##call
#define TSHMEM_PLAIN(call)      tshmem_##call
#define TSHMEM_DO(call)         call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO
#include "tutti/shmem_ctx.h"
#ifndef __CUDACC_RTC__
#include "tutti/shmem_stream.h"
#endif
/* tshmem_put and its like, for any of the types. */
#include "tutti/shmem_generic.h"

/* With the MPI's mpi.h included before this file: */
#ifdef MPI_VERSION
/* NULL: libtutti.so is not in front of the MPI. */
static inline void *tutti_shmem_of_mpi(const char *name)
{
    union {
        void *symbol;
        void *(*find)(const char *, size_t);
    } way;
    way.symbol = dlsym((void *)0, "tutti_mpix_call"); /* the whole program's scope */
    return way.symbol ? way.find(name, sizeof(MPI_Comm)) : (void *)0;
}

/* Collective over the communicator, whose ranks become the PEs in their order: as tshmem_init() otherwise, but MPI_Init
 * has been called. TUTTI_ERR_UNAVAILABLE where ranks of a node cannot share memory, there are more than TSHMEM_PES_MAX
 * or on one TSHMEM_NEAR_MAX, or libtutti.so is not in front of the MPI. */
static inline int tshmem_init_comm(MPI_Comm comm)
{
    union {
        void *symbol;
        int (*call)(MPI_Comm);
    } way;
    way.symbol = tutti_shmem_of_mpi("tshmem_init_comm");
    return way.symbol ? way.call(comm) : tutti_shmem_no_front("tshmem_init_comm");
}

/* Collective over the communicator, whose ranks are all PEs: they become a team in their order. Otherwise as
 * tshmem_team_split_strided(). Refused by one, there is no team on any, and TSHMEM_TEAM_INVALID. */
static inline int tshmem_team_from_comm(MPI_Comm comm, const tshmem_team_config_t *config, long mask,
                                        tshmem_team_t *made)
{
    union {
        void *symbol;
        int (*call)(MPI_Comm, const tshmem_team_config_t *, long, tshmem_team_t *);
    } way;
    *made = TSHMEM_TEAM_INVALID;
    way.symbol = tutti_shmem_of_mpi("tshmem_team_from_comm");
    return way.symbol ? way.call(comm, config, mask, made) : tutti_shmem_no_front("tshmem_team_from_comm");
}
#endif

#ifndef __CUDACC_RTC__
#include "tutti/words_pop.h"
#endif

#endif
