/* Collectives that move data: each PE stores its part into the others' objects, between two meetings. */
#include "shmem/move.h"
#include "shmem/here.h"

#include "shmem/spread.h"

enum { PARTS = TUTTI_SHMEM_PARTS };

static uint64_t call_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address, size_t bytes,
                            int reads)
{
    const int me = space->state.me;
    if (bytes == 0 || space->state.pes == 0)
        return 0;
    const char *at = tutti_shmem_find(space, address, bytes, me, tutti_shmem_call_name(call), reads);
    if (!at)
        call->refused = TUTTI_ERR_ARGUMENT;
    return at ? (uint64_t)(at - space->base[me]) : 0;
}

uint64_t tutti_shmem_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address, size_t bytes)
{
    return call_offset(space, call, address, bytes, 0);
}

uint64_t tutti_shmem_source_offset(struct tutti_shmem *space, struct tutti_shmem_call *call, const void *address,
                                   size_t bytes)
{
    return call_offset(space, call, address, bytes, 1);
}

size_t tutti_shmem_product(struct tutti_shmem *space, struct tutti_shmem_call *call, size_t a, size_t b)
{
    size_t all;
    if (!__builtin_mul_overflow(a, b, &all))
        return all;
    call->refused =
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(call), "%zu times %zu bytes", a, b);
    return 0;
}

int tutti_shmem_members(struct tutti_shmem *space, tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(space, team);
    return state ? state->size : 1; /* none: the call itself reports it */
}

/* Stores this PE's bytes at `offset` into the objects at `dest` of all members, beginning with the next member. */
static int call_push(struct tutti_shmem *space, const struct tutti_shmem_call *call, uint64_t dest, const void *source,
                     size_t bytes)
{
    struct tutti_shmem_part part[PARTS];
    const int size = call->team->size;
    int status = TUTTI_OK;
    for (int begin = 0; begin < size && status == TUTTI_OK && bytes > 0; begin += PARTS) {
        const int n = size - begin < PARTS ? size - begin : PARTS;
        for (int i = 0; i < n; i++)
            part[i] = (struct tutti_shmem_part){
                tutti_shmem_of(space, call, (call->team->me + 1 + begin + i) % size, dest), source, bytes};
        status = tutti_shmem_move_all(space, part, (size_t)n);
    }
    return status;
}

int tutti_shmem_broadcast(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes, int root)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_BROADCAST, .word = {[TUTTI_SHMEM_ELEMENT] = bytes}};
    const size_t all = tutti_shmem_product(space, &call, n, bytes);
    call.word[0] = tutti_shmem_offset(space, &call, dest, all);
    call.word[1] = tutti_shmem_source_offset(space, &call, source, all);
    call.word[2] = all;
    call.word[3] = (uint64_t)root;
    if (tutti_shmem_team(space, team) && (root < 0 || root >= tutti_shmem_members(space, team)))
        call.refused = tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, "tshmem_broadcast",
                                        "there is no PE %d in a team of %d", root, tutti_shmem_members(space, team));
    int status = tutti_shmem_begin(space, &call, team);
    if (status != TUTTI_OK)
        return status;
    if (call.team->me == root)
        status = call_push(space, &call, call.word[0], source, all);
    return tutti_shmem_end(space, &call, status);
}

/* The offset of an object in the heap, of which only the beginning is known; nowhere: it is not in the heap. */
static const uint64_t nowhere = UINT64_MAX;
static uint64_t move_begin_of(struct tutti_shmem *space, const void *address)
{
    const uint64_t at = (uint64_t)((uintptr_t)tutti_shmem_unstatic(space, address) - (uintptr_t)space->state.heap);
    return space->state.pes > 0 && at >= space->first && at < tutti_shmem_mapped(space) ? at : nowhere;
}

/* Bytes of all contributions, and of those before this PE's. If none exist, dest may be anything. All PEs find
 * the same. */
enum { MINE = TUTTI_SHMEM_ALIKE, DEST };
static int call_add_sizes(struct tutti_shmem *space, const struct tutti_shmem_call *call, uint64_t *before,
                          uint64_t *all)
{
    const char *name = tutti_shmem_call_name(call);
    int other = -1;
    *before = *all = 0;
    for (int i = 0; i < call->team->size; i++) {
        const struct tutti_shmem_contribution *theirs = tutti_shmem_contribution(space, call, i);
        *before += i < call->team->me ? theirs->word[MINE] : 0;
        *all += theirs->word[MINE];
        if (theirs->word[DEST] != call->word[DEST])
            other = tutti_shmem_pe_of(space, call->team, i);
    }
    if (*all == 0)
        return TUTTI_OK;
    if (other >= 0)
        return tutti_shmem_fail(space, TUTTI_ERR_MISMATCH, name, "dest is not the same object here and on PE %d",
                                other);
    if (call->word[DEST] == nowhere)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "dest is not in the heap: tshmem_malloc gives such");
    if (*all > tutti_shmem_mapped(space) - call->word[DEST])
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "the PEs bring %llu bytes, more than the heap has",
                                (unsigned long long)*all);
    return TUTTI_OK;
}

int tutti_shmem_collect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_COLLECT, .word = {[1] = bytes}};
    const size_t mine = tutti_shmem_product(space, &call, n, bytes);
    uint64_t before, all;
    tutti_shmem_source_offset(space, &call, source, mine);
    call.word[MINE] = mine;
    call.word[DEST] = move_begin_of(space, dest);
    int status = tutti_shmem_begin(space, &call, team);
    if (status != TUTTI_OK)
        return status;
    status = call_add_sizes(space, &call, &before, &all);
    if (status == TUTTI_OK) /* otherwise all have seen the error: there is no last meeting */
        status = call_push(space, &call, call.word[DEST] + before, source, mine);
    return tutti_shmem_end(space, &call, status);
}

int tutti_shmem_fcollect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_FCOLLECT, .word = {[TUTTI_SHMEM_ELEMENT] = bytes}};
    const size_t mine = tutti_shmem_product(space, &call, n, bytes);
    const size_t all = tutti_shmem_product(space, &call, mine, (size_t)tutti_shmem_members(space, team));
    call.word[0] = tutti_shmem_offset(space, &call, dest, all);
    call.word[1] = tutti_shmem_source_offset(space, &call, source, mine);
    call.word[2] = mine;
    int status = tutti_shmem_begin(space, &call, team);
    if (status == TUTTI_OK) {
        status = call_push(space, &call, call.word[0] + (uint64_t)call.team->me * mine, source, mine);
        status = tutti_shmem_end(space, &call, status);
    }
    return status;
}

/* Bytes from the first to the last of `n` elements, `stride` elements apart. */
static size_t move_strided_reach(struct tutti_shmem *space, struct tutti_shmem_call *call, ptrdiff_t stride, size_t n,
                                 size_t bytes)
{
    if (stride < 1) {
        call->refused = tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, "tshmem_alltoalls",
                                         "a stride of %td elements: it begins with 1", stride);
        return 0;
    }
    if (n == 0)
        return 0;
    const size_t all = tutti_shmem_product(space, call, n - 1, (size_t)stride);
    return tutti_shmem_product(space, call, all + 1, bytes);
}

int tutti_shmem_alltoalls(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                          size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = {.kind = dst == 1 && sst == 1 ? TUTTI_SHMEM_ALLTOALL : TUTTI_SHMEM_ALLTOALLS,
                                    .word = {[TUTTI_SHMEM_ELEMENT] = bytes}};
    const size_t all = tutti_shmem_product(space, &call, n, (size_t)tutti_shmem_members(space, team));
    call.word[0] = tutti_shmem_offset(space, &call, dest, move_strided_reach(space, &call, dst, all, bytes));
    call.word[1] = tutti_shmem_source_offset(space, &call, source, move_strided_reach(space, &call, sst, all, bytes));
    call.word[2] = n * bytes;
    call.word[3] = (uint64_t)dst << 32 | (uint32_t)sst;
    int status = tutti_shmem_begin(space, &call, team);
    if (status != TUTTI_OK)
        return status;
    struct tutti_shmem_part part[PARTS];
    const int size = call.team->size;
    const size_t to_step = (size_t)dst * bytes, from_step = (size_t)sst * bytes;
    for (int i = 0; i < size && n > 0 && status == TUTTI_OK; i++) {
        const int peer = (call.team->me + 1 + i) % size;
        char *to = (char *)tutti_shmem_of(space, &call, peer, call.word[0]) + (size_t)call.team->me * n * to_step;
        const char *from = (const char *)source + (size_t)peer * n * from_step;
        part[i % PARTS] = (struct tutti_shmem_part){to, from, n * bytes};
        if (dst != 1 || sst != 1)
            status = space->kind_of[tutti_shmem_pe_of(space, call.team, peer)]->blocks(space, to, from, dst, sst, 1, n,
                                                                                       bytes);
        else if (i % PARTS == PARTS - 1 || i == size - 1)
            status = tutti_shmem_move_all(space, part, (size_t)(i % PARTS + 1));
    }
    return tutti_shmem_end(space, &call, status);
}

int tshmem_broadcastmem(tshmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    return tutti_shmem_broadcast(team, dest, source, bytes, 1, root);
}

int tshmem_collectmem(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_shmem_collect(team, dest, source, bytes, 1);
}

int tshmem_fcollectmem(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_shmem_fcollect(team, dest, source, bytes, 1);
}

int tshmem_alltoallmem(tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    return tutti_shmem_alltoalls(team, dest, source, 1, 1, bytes, 1);
}

/* ---- no data at all ---- */

int tshmem_sync(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return tutti_shmem_pass(space, team, TUTTI_SHMEM_SYNC);
}

int tshmem_team_sync(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return tutti_shmem_pass_as(space, team, TUTTI_SHMEM_SYNC, TUTTI_SHMEM_NAMED_TEAM);
}

int tshmem_barrier(tshmem_team_t team)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tshmem_quiet();
    return tutti_shmem_pass(space, team, TUTTI_SHMEM_BARRIER);
}

void tshmem_sync_all(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tutti_shmem_pass_as(space, TSHMEM_TEAM_WORLD, TUTTI_SHMEM_SYNC, TUTTI_SHMEM_OF_ALL);
}

void tshmem_barrier_all(void)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    tshmem_quiet();
    tutti_shmem_pass_as(space, TSHMEM_TEAM_WORLD, TUTTI_SHMEM_BARRIER, TUTTI_SHMEM_OF_ALL);
}
