/* Collectives that move data: every PE stores its part into the others' objects, between two meetings. */
#include "shmem/move.h"

#include "shmem/spread.h"

enum { PARTS = TUTTI_SHMEM_PARTS };

uint64_t tutti_shmem_offset(struct tutti_shmem_call *call, const void *address, size_t bytes)
{
    if (bytes == 0 || tutti_shmem.state.pes == 0)
        return 0;
    if (!tutti_shmem_at(address, bytes, tutti_shmem.state.me, tutti_shmem_call_name(call->kind)))
        call->refused = TUTTI_ERR_ARGUMENT;
    return (uint64_t)((uintptr_t)tutti_shmem_unstatic(address) - (uintptr_t)tutti_shmem.state.heap);
}

size_t tutti_shmem_product(struct tutti_shmem_call *call, size_t a, size_t b)
{
    size_t all;
    if (!__builtin_mul_overflow(a, b, &all))
        return all;
    call->refused =
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(call->kind), "%zu times %zu bytes", a, b);
    return 0;
}

int tutti_shmem_members(tshmem_team_t team)
{
    const struct tshmem_team_state *state = tutti_shmem_team(team);
    return state ? state->size : 1; /* none: the call itself says so */
}

/* Stores own bytes at `offset` into the objects at `dest` of all members, beginning with the next one. */
static int push(const struct tutti_shmem_call *call, uint64_t dest, const void *source, size_t bytes)
{
    struct tutti_shmem_part part[PARTS];
    const int size = call->team->size;
    int status = TUTTI_OK;
    for (int begin = 0; begin < size && status == TUTTI_OK; begin += PARTS) {
        const int n = size - begin < PARTS ? size - begin : PARTS;
        for (int i = 0; i < n; i++)
            part[i] = (struct tutti_shmem_part){tutti_shmem_of(call, (call->team->me + 1 + begin + i) % size, dest),
                                                source, bytes};
        status = tutti_shmem_move_all(part, (size_t)n);
    }
    return status;
}

int tutti_shmem_broadcast(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes, int root)
{
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_BROADCAST};
    const size_t all = tutti_shmem_product(&call, n, bytes);
    call.word[0] = tutti_shmem_offset(&call, dest, all);
    call.word[1] = tutti_shmem_offset(&call, source, all);
    call.word[2] = all;
    call.word[3] = (uint64_t)root;
    if (tutti_shmem_team(team) && (root < 0 || root >= tutti_shmem_members(team)))
        call.refused = tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_broadcast", "there is no PE %d in a team of %d",
                                        root, tutti_shmem_members(team));
    int status = tutti_shmem_begin(&call, team);
    if (status != TUTTI_OK)
        return status;
    if (call.team->me == root)
        status = push(&call, call.word[0], source, all);
    return tutti_shmem_end(&call, status);
}

int tutti_shmem_collect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes)
{
    enum { MINE = TUTTI_SHMEM_ALIKE };
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_COLLECT};
    const size_t mine = tutti_shmem_product(&call, n, bytes);
    uint64_t before = 0, all = 0;
    tutti_shmem_offset(&call, source, mine);
    call.word[0] = tutti_shmem_offset(&call, dest, 1);
    call.word[1] = bytes;
    call.word[MINE] = mine;
    int status = tutti_shmem_begin(&call, team);
    if (status != TUTTI_OK)
        return status;
    for (int i = 0; i < call.team->size; i++) {
        before += i < call.team->me ? tutti_shmem_said(&call, i)->word[MINE] : 0;
        all += tutti_shmem_said(&call, i)->word[MINE];
    }
    if (all > tutti_shmem_mapped(&tutti_shmem) - call.word[0]) /* all PEs see that */
        status = tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_collect",
                                  "the PEs bring %llu bytes, more than the heap has", (unsigned long long)all);
    else
        status = push(&call, call.word[0] + before, source, mine);
    return tutti_shmem_end(&call, status);
}

int tutti_shmem_fcollect(tshmem_team_t team, void *dest, const void *source, size_t n, size_t bytes)
{
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_FCOLLECT};
    const size_t mine = tutti_shmem_product(&call, n, bytes);
    const size_t all = tutti_shmem_product(&call, mine, (size_t)tutti_shmem_members(team));
    call.word[0] = tutti_shmem_offset(&call, dest, all);
    call.word[1] = tutti_shmem_offset(&call, source, mine);
    call.word[2] = mine;
    int status = tutti_shmem_begin(&call, team);
    if (status == TUTTI_OK) {
        status = push(&call, call.word[0] + (uint64_t)call.team->me * mine, source, mine);
        status = tutti_shmem_end(&call, status);
    }
    return status;
}

/* Bytes that `n` elements reach over, `stride` elements apart. */
static size_t reach(struct tutti_shmem_call *call, ptrdiff_t stride, size_t n, size_t bytes)
{
    if (stride < 1) {
        call->refused = tutti_shmem_fail(TUTTI_ERR_ARGUMENT, "tshmem_alltoalls",
                                         "a stride of %td elements: it begins with 1", stride);
        return 0;
    }
    if (n == 0)
        return 0;
    const size_t all = tutti_shmem_product(call, n - 1, (size_t)stride);
    return tutti_shmem_product(call, all + 1, bytes);
}

int tutti_shmem_alltoalls(tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                          size_t bytes)
{
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_ALLTOALL};
    const size_t all = tutti_shmem_product(&call, n, (size_t)tutti_shmem_members(team));
    call.word[0] = tutti_shmem_offset(&call, dest, reach(&call, dst, all, bytes));
    call.word[1] = tutti_shmem_offset(&call, source, reach(&call, sst, all, bytes));
    call.word[2] = n * bytes;
    call.word[3] = (uint64_t)dst << 32 ^ (uint64_t)sst;
    int status = tutti_shmem_begin(&call, team);
    if (status != TUTTI_OK)
        return status;
    struct tutti_shmem_part part[PARTS];
    const int size = call.team->size;
    const size_t to_step = (size_t)dst * bytes, from_step = (size_t)sst * bytes;
    for (int i = 0; i < size && n > 0 && status == TUTTI_OK; i++) {
        const int peer = (call.team->me + 1 + i) % size;
        char *to = (char *)tutti_shmem_of(&call, peer, call.word[0]) + (size_t)call.team->me * n * to_step;
        const char *from = (const char *)source + (size_t)peer * n * from_step;
        part[i % PARTS] = (struct tutti_shmem_part){to, from, n * bytes};
        if (dst != 1 || sst != 1)
            status = tutti_shmem.kind_of[tutti_shmem_pe_of(call.team, peer)]->blocks(to, from, dst, sst, 1, n, bytes);
        else if (i % PARTS == PARTS - 1 || i == size - 1)
            status = tutti_shmem_move_all(part, (size_t)(i % PARTS + 1));
    }
    return tutti_shmem_end(&call, status);
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
    return tutti_shmem_pass(team, TUTTI_SHMEM_SYNC);
}

int tshmem_team_sync(tshmem_team_t team)
{
    return tshmem_sync(team);
}

int tshmem_barrier(tshmem_team_t team)
{
    tshmem_quiet();
    return tshmem_sync(team);
}

void tshmem_sync_all(void)
{
    tshmem_sync(TSHMEM_TEAM_WORLD);
}

void tshmem_barrier_all(void)
{
    tshmem_barrier(TSHMEM_TEAM_WORLD);
}
