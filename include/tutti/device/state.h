/* How a file of kernels gets the state of its PE, without relocatable device code: each file has a copy in constant
 * memory, and asks the library to fill it.
 *
 * nvcc: a constructor gives the library a function that fills the copy, on the GPU of the heap (tshmem_init()); a
 * program that is not linked with the library calls tshmem_bind_here() itself. NVRTC and modules of the driver: the
 * program finds the symbol "tshmem_state_here" in its module (cuModuleGetGlobal) and copies tshmem_state_get() there.
 * C: the library is asked at every call.
 *
 * TSHMEM_STATE(): the state; a program may define its own before. */
#ifndef TUTTI_DEVICE_STATE_H
#define TUTTI_DEVICE_STATE_H

#ifdef __CUDACC__
#ifdef __CUDACC_RTC__
extern "C" __constant__ struct tshmem_state tshmem_state_here;
__constant__ struct tshmem_state tshmem_state_here;
#else
static __constant__ __attribute__((unused)) struct tshmem_state tshmem_state_here;

#ifndef TSHMEM_STATE
extern "C" __attribute__((weak)) int tshmem_register_module(int (*bind)(const struct tshmem_state *state));

/* Local, on the current GPU. The state of the kernels of this file; NULL: no state any longer. A negative status if it
 * is not laid out as this file was compiled, or the GPU does not accept it. */
static __attribute__((unused)) int tshmem_bind_here(const struct tshmem_state *state)
{
    static const struct tshmem_state none = {};
    const struct tshmem_state *const given = state ? state : &none;
    if (state && (state->bytes != sizeof *state || state->version != TSHMEM_STATE_VERSION))
        return TUTTI_DEV_ERR_MISMATCH;
    return cudaMemcpyToSymbol(tshmem_state_here, given, sizeof *given) == cudaSuccess ? TUTTI_DEV_OK
                                                                                      : TUTTI_DEV_ERR_DEVICE;
}

static __attribute__((unused, constructor)) void tshmem_register_here(void)
{
    if (tshmem_register_module)
        tshmem_register_module(tshmem_bind_here);
}
#endif
#endif
#ifndef TSHMEM_STATE
#define TSHMEM_STATE()         (&tshmem_state_here)
#define TUTTI_DEV_KNOWN(state) 1
#endif
#elif !defined(TSHMEM_STATE)
#define TSHMEM_STATE() tshmem_state_get()
#endif

/* 0 if there is no state: in C, before tshmem_init(). A state in constant memory that was not filled has no PEs. */
#ifndef TUTTI_DEV_KNOWN
#define TUTTI_DEV_KNOWN(state) ((state) != NULL)
#endif

TUTTI_DEV const struct tshmem_state *tutti_dev_state(void)
{
    return TSHMEM_STATE();
}

/* A failure: all waits of this PE's kernels end, and the host sees it. Without a state it has no effect.
 * why: TSHMEM_ABORT_... */
TUTTI_DEV void tutti_dev_abort(uint32_t why)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (!TUTTI_DEV_KNOWN(state) || state->bytes != sizeof *state)
        tutti_dev_die();
    else
        tutti_dev_store_release32(state->abort, why);
}

/* Fills the record (tutti/shmem_failure.h), which the first thread that fails has. */
TUTTI_DEV_COLD void tutti_dev_note(int operation, int reason, int pe, int team, uint64_t address, uint64_t bytes)
{
    struct tshmem_failure *const failure = tutti_dev_state()->failure;
    if (!failure || tutti_dev_compare_swap32(&failure->taken, 0, 1) != 0)
        return;
    tutti_dev_store_relaxed64(&failure->call, (tutti_dev_u64)tutti_dev_thread_packed() << 32 |
                                                  (tutti_dev_u64)(unsigned)(operation | reason << 8));
    tutti_dev_store_relaxed64(&failure->block, tutti_dev_block_packed());
    tutti_dev_store_relaxed64(&failure->who, (tutti_dev_u64)(unsigned)pe << 32 | (unsigned)team);
    tutti_dev_store_relaxed64(&failure->address, address);
    tutti_dev_store_relaxed64(&failure->bytes, bytes);
    tutti_dev_store_release32(&failure->ready, 1);
}

/* The same, and all waits leave: where a call ends with it, out of the way. On ways that go on there are no calls: what
 * lives past one is kept in memory, from when it is made. */
TUTTI_DEV_COLD void tutti_dev_refuse(int operation, int reason, int pe, int team, uint64_t address, uint64_t bytes)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (TUTTI_DEV_KNOWN(state) && state->bytes == sizeof *state)
        tutti_dev_note(operation, reason, pe, team, address, bytes);
    tutti_dev_abort(TSHMEM_ABORT_KERNEL);
}

/* 1 if a PE names itself, and memory that is not in its heap: any that it can load and store. */
TUTTI_DEV int tutti_dev_is_own(const void *address, int pe)
{
    const struct tshmem_state *const state = tutti_dev_state();
    return TUTTI_DEV_KNOWN(state) && pe == state->me &&
           (uint64_t)((uintptr_t)address - (uintptr_t)state->heap) >= state->heap_bytes;
}

/* The number of that PE's heap; TSHMEM_NEAR_MAX or more: there is no such PE, or loads and stores do not reach it. */
TUTTI_DEV uint32_t tutti_dev_peer_number(const struct tshmem_state *state, int pe)
{
    const uint32_t ahead = (uint32_t)pe - state->near_first;
    return tutti_dev_rotate(ahead * state->near_scale + ahead, state->near_shift);
}

/* The heap of that PE; NULL if there is no such PE, or loads and stores do not reach it. */
TUTTI_DEV char *tutti_dev_peer(const struct tshmem_state *state, int pe)
{
    const uint32_t number = tutti_dev_peer_number(state, pe);
    return number < TSHMEM_NEAR_MAX ? state->peer[number] : NULL;
}

/* The symmetric `address` at that PE; NULL if there is no such PE, or loads and stores do not reach it. */
TUTTI_DEV char *tutti_dev_find(const void *address, int pe)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (!TUTTI_DEV_KNOWN(state))
        return NULL;
    char *const heap = tutti_dev_peer(state, pe);
    const uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)state->heap);
    return heap && offset < state->heap_bytes ? tutti_dev_global(heap + offset) : NULL;
}

/* 1 if loads and stores reach the symmetric `address` at that PE, which is then *at; else *at is of no use. Neither the
 * heap nor the address is chosen between two: fewer instructions than a look at what tutti_dev_find() returns. */
TUTTI_DEV int tutti_dev_reaches(const void *address, int pe, char **at)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (!TUTTI_DEV_KNOWN(state)) {
        *at = NULL;
        return 0;
    }
    const uint32_t number = tutti_dev_peer_number(state, pe);
    char *const heap = state->peer[number % TSHMEM_NEAR_MAX];
    const uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)state->heap);
    *at = tutti_dev_global((char *)((uintptr_t)heap + offset));
    return (number < TSHMEM_NEAR_MAX) & (offset < state->heap_bytes) & (heap != NULL);
}

/* The heap of a member of a team. One that loads and stores do not reach is a failure: all waits leave, and this PE's
 * own heap stands for it, so that nothing else is touched. */
TUTTI_DEV char *tutti_dev_heap(int pe)
{
    const struct tshmem_state *const state = tutti_dev_state();
    char *const heap = tutti_dev_peer(state, pe);
    if (!heap)
        tutti_dev_abort(TSHMEM_ABORT_NO_WAY | (uint32_t)pe << 8);
    return tutti_dev_global(heap ? heap : state->heap);
}

/* Where the internal area of team number `number` lies in every heap. */
TUTTI_DEV uint64_t tutti_dev_area_at(uint32_t number)
{
    const struct tshmem_state *const state = tutti_dev_state();
    return state->area + number * state->area_bytes;
}

/* The internal area of team number `number` at that PE. */
TUTTI_DEV struct tshmem_area *tutti_dev_area(int pe, uint32_t number)
{
    return (struct tshmem_area *)(void *)(tutti_dev_heap(pe) + tutti_dev_area_at(number));
}

/* That of this PE. */
TUTTI_DEV struct tshmem_area *tutti_dev_here(uint32_t number)
{
    return (struct tshmem_area *)(void *)tutti_dev_global(tutti_dev_state()->heap + tutti_dev_area_at(number));
}

/* ---- waits: each is bounded by the abort word and the state's limit ---- */

struct tutti_dev_patience {
    uint64_t start;
    unsigned spins;
};

enum { TUTTI_DEV_LEFT = 1, TUTTI_DEV_TOO_LONG };

/* Called in every turn of a wait of a collective, which has failed already where `failed` is not 0. Not 0: leave;
 * TUTTI_DEV_TOO_LONG: since the limit has passed, of which the caller fills the record. */
TUTTI_DEV int tutti_dev_leaves(struct tutti_dev_patience *patience, int failed)
{
    if (++patience->spins % TUTTI_DEV_SPINS != 0)
        return 0;
    const struct tshmem_state *const state = tutti_dev_state();
    tutti_dev_pause();
    if (failed)
        tutti_dev_abort(TSHMEM_ABORT_KERNEL);
    if (tutti_dev_load_relaxed32(state->abort) != 0)
        return TUTTI_DEV_LEFT;
    const uint64_t now = tutti_dev_clock_ns();
    if (patience->start == 0)
        patience->start = now;
    if (state->limit_ns == 0 || now - patience->start <= state->limit_ns)
        return 0;
    tutti_dev_abort(TSHMEM_ABORT_KERNEL);
    return TUTTI_DEV_TOO_LONG;
}

/* In every turn of any other wait, for the word at `address`; it fills the record. 1: leave. */
TUTTI_DEV int tutti_dev_leave(struct tutti_dev_patience *patience, int operation, const void *address)
{
    const int leaves = tutti_dev_leaves(patience, 0);
    if (leaves == TUTTI_DEV_TOO_LONG)
        tutti_dev_note(operation, TSHMEM_WHY_TOO_LONG, -1, -1, (uint64_t)(uintptr_t)address, 0);
    return leaves != 0;
}

/* ---- groups, the grid among them ---- */

/* Waits for all blocks of this GPU's grid. Every block but one adds 1, and one block adds the rest up to the top bit.
 * So the bit flips once in each barrier, for any number of blocks. */
TUTTI_DEV int tutti_dev_grid_sync(int failed)
{
    tutti_dev_near_join(TUTTI_BY_BLOCK);
    if (tutti_dev_thread() == 0 && tutti_dev_blocks() > 1) {
        uint32_t *const arrived = &tutti_dev_here(0)->grid_arrived;
        const uint32_t mine = tutti_dev_block() == 0 ? 0x80000000u - (tutti_dev_blocks() - 1) : 1;
        struct tutti_dev_patience patience = {0, 0};
        tutti_dev_fence_gpu();
        const uint32_t before = tutti_dev_grid_add(arrived, mine);
        while (((tutti_dev_load_look32(arrived) ^ before) & 0x80000000u) == 0 && !failed) {
            const int leaves = tutti_dev_leaves(&patience, 0);
            if (leaves == TUTTI_DEV_TOO_LONG)
                tutti_dev_abort(TSHMEM_ABORT_GRID);
            failed = leaves != 0;
        }
        tutti_dev_fence_gpu();
    }
    return tutti_dev_near_sync(TUTTI_BY_BLOCK, failed);
}

/* Waits for all threads of the group: what each has stored is seen by all. 1 if one of them passed `failed`; in a
 * grid, only threads of the same block get the 1. */
TUTTI_DEV int tutti_dev_sync(int group, int failed)
{
    return group == TUTTI_BY_GRID ? tutti_dev_grid_sync(failed) : tutti_dev_near_sync(group, failed);
}

/* The same, where none brings anything. */
TUTTI_DEV void tutti_dev_join(int group)
{
    if (group == TUTTI_BY_GRID)
        tutti_dev_grid_sync(0);
    else
        tutti_dev_near_join(group);
}

/* The leader's value, to all threads of the group. */
TUTTI_DEV uint64_t tutti_dev_share(int group, uint64_t value)
{
    if (group != TUTTI_BY_GRID)
        return tutti_dev_near_share(group, value);
    uint64_t *const word = &tutti_dev_here(0)->word[0];
    tutti_dev_grid_sync(0);
    if (tutti_dev_rank(TUTTI_BY_GRID) == 0)
        tutti_dev_store_relaxed64(word, value);
    tutti_dev_grid_sync(0);
    return tutti_dev_load_relaxed64(word);
}

/* The same of a warp or block, at the price of one wait where the value is the one that is likely, which all know. */
TUTTI_DEV uint64_t tutti_dev_share_likely(int group, uint64_t value, uint64_t likely)
{
    const int other = tutti_dev_near_sync(group, tutti_dev_rank(group) == 0 && value != likely);
    return other ? tutti_dev_near_share(group, value) : likely;
}

#endif
