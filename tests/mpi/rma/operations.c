#include "operations.h"

#include <stdio.h>
#include <string.h>

uint64_t state, shared_state;

const char *const call_names[] = {
#define X(name) "MPI_" #name,
    CALLS(X)
#undef X
};

struct kit_buffer arena[2][2];
MPI_Aint window_at[2][RANKS];
char *arena_base[2][2];
static size_t arena_used[2];

static void *part_of(const struct part *part, int w)
{
    return arena_base[w][part->kind] + part->at;
}

int operation_make(const struct op *o, int w, MPI_Win win, MPI_Request *request)
{
    void *origin = part_of(&o->origin, w), *result = part_of(&o->result, w), *compare = part_of(&o->compare, w);
    const MPI_Aint disp = window_at[w][o->target] + o->at / o->unit;
#define AT_ORIGIN origin, o->origin.count, o->origin.type
#define AT_RESULT result, o->result.count, o->result.type
#define AT_TARGET o->target, disp, o->count, o->type
    switch (o->call) {
    case CALL_Put:
        return MPI_Put(AT_ORIGIN, AT_TARGET, win);
    case CALL_Get:
        return MPI_Get(AT_RESULT, AT_TARGET, win);
    case CALL_Accumulate:
        return MPI_Accumulate(AT_ORIGIN, AT_TARGET, o->op, win);
    case CALL_Get_accumulate:
        return MPI_Get_accumulate(AT_ORIGIN, AT_RESULT, AT_TARGET, o->op, win);
    case CALL_Fetch_and_op:
        return MPI_Fetch_and_op(origin, result, o->basic, o->target, disp, o->op, win);
    case CALL_Compare_and_swap:
        return MPI_Compare_and_swap(origin, compare, result, o->basic, o->target, disp, win);
    case CALL_Rput:
        return MPI_Rput(AT_ORIGIN, AT_TARGET, win, request);
    case CALL_Rget:
        return MPI_Rget(AT_RESULT, AT_TARGET, win, request);
    case CALL_Raccumulate:
        return MPI_Raccumulate(AT_ORIGIN, AT_TARGET, o->op, win, request);
    case CALL_Rget_accumulate:
        return MPI_Rget_accumulate(AT_ORIGIN, AT_RESULT, AT_TARGET, o->op, win, request);
    case CALLS_ALL:
        break;
    }
    return MPI_ERR_INTERN;
}

/* A type of `n` basic elements in all, `times` of which are `*count` elements of it; *room: bytes that they span. */
static MPI_Datatype draw_type(MPI_Datatype basic, int size, int n, int plain, int *count, size_t *room)
{
    MPI_Datatype type, wide;
    const int half = n % 2 == 0 ? n / 2 : n;
    const uint64_t how = plain ? 0 : draw(4);
    *count = n;
    switch (how) {
    case 1: /* blocks with gaps */
        MPI_Type_vector(n / half, half, half + 2, basic, &type);
        *count = 1;
        *room = (size_t)size * (size_t)(n / half * (half + 2));
        break;
    case 2: /* elements with gaps */
        MPI_Type_create_resized(basic, 0, 2 * size, &type);
        *room = (size_t)size * 2 * (size_t)n;
        break;
    case 3:
        MPI_Type_contiguous(half, basic, &wide);
        MPI_Type_create_resized(wide, 0, (half + 1) * size, &type);
        MPI_Type_free(&wide);
        *count = n / half;
        *room = (size_t)size * (size_t)(*count * (half + 1));
        break;
    default:
        MPI_Type_dup(basic, &type);
        *room = (size_t)size * (size_t)n;
    }
    if (how == 0 && draw(2)) { /* the predefined one itself */
        MPI_Type_free(&type);
        return basic;
    }
    MPI_Type_commit(&type);
    return type;
}

static void type_free(MPI_Datatype *type, MPI_Datatype basic)
{
    if (*type != basic && *type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
}

static int draw_part(struct part *part, MPI_Datatype basic, int size, int n, int plain)
{
    size_t room;
    part->kind = (int)draw(2);
    part->type = draw_type(basic, size, n, plain, &part->count, &room);
    part->at = (arena_used[part->kind] + 7) / 8 * 8 + (size_t)size * draw(2);
    arena_used[part->kind] = part->at + room;
    return arena_used[part->kind] < ARENA;
}

/* By numbers; of doubles the bits are any. */
static MPI_Op draw_op(MPI_Datatype basic, int *how)
{
    MPI_Op all[] = {MPI_NO_OP, MPI_REPLACE, MPI_SUM, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR};
    *how = (int)draw(basic == MPI_DOUBLE ? 2 : sizeof all / sizeof all[0]);
    return all[*how];
}

/* Where the next operation of this rank goes in its private part of each window. */
static MPI_Aint next_at[RANKS];

void operations_begin(void)
{
    for (int r = 0; r < RANKS; r++)
        next_at[r] = kit_rank * PRIVATE;
    arena_used[0] = arena_used[1] = 0;
}

int operation_draw(struct op *o, int target, const int units[], int requests)
{
    MPI_Datatype basics[] = {MPI_INT, MPI_INT64_T, MPI_DOUBLE, MPI_BYTE};
    const int sizes[] = {4, 8, 8, 1};
    memset(o, 0, sizeof *o);
    o->call = (enum call)draw(requests ? CALLS_ALL : CALL_Rput);
    const int moves = o->call == CALL_Put || o->call == CALL_Get || o->call == CALL_Rput || o->call == CALL_Rget;
    const int single = o->call == CALL_Fetch_and_op || o->call == CALL_Compare_and_swap;
    const int swaps = o->call == CALL_Compare_and_swap;
    int which = (int)draw(moves ? 4 : swaps ? 2 : 3);
    if (OLD_OPEN_MPI && swaps)
        which = 0;
    if (OLD_OPEN_MPI && (o->call == CALL_Get_accumulate || o->call == CALL_Rget_accumulate))
        which = 2;
    const int alone = moves || swaps || draw(3) > 0 || which > 1;
    const int plain = single || (!moves && OLD_OPEN_MPI);
    int n = single ? 1 : 1 + (int)draw(draw(4) ? 12 : 150);
    size_t room;
    o->target = target;
    o->unit = units[target];
    o->basic = basics[which];
    o->which = which;
    o->op = moves ? MPI_REPLACE : draw_op(o->basic, &o->how);
    if (o->op == MPI_NO_OP && (o->call == CALL_Accumulate || o->call == CALL_Raccumulate))
        o->op = MPI_REPLACE;
    if (!alone && (o->call == CALL_Accumulate || o->call == CALL_Raccumulate)) { /* among those of other ranks */
        n = n > SHARED / sizes[which] ? SHARED / sizes[which] : n;
        o->op = which == 0 ? MPI_SUM : MPI_BXOR;
        o->at = which == 0 ? INT_AT : LONG_AT;
        o->count = n;
        o->type = o->basic;
    } else {
        o->type = draw_type(o->basic, sizes[which], n, plain, &o->count, &room);
        o->at = next_at[target];
        next_at[target] += (MPI_Aint)(room + 7) / 8 * 8 + 8 * (MPI_Aint)draw(2);
        if (next_at[target] > (kit_rank + 1) * PRIVATE || (size_t)o->at + room > WINDOW) {
            type_free(&o->type, o->basic);
            return 0;
        }
    }
    const int fine = draw_part(&o->origin, o->basic, sizes[which], n, plain) &&
                     draw_part(&o->compare, o->basic, sizes[which], 1, 1) &&
                     draw_part(&o->result, o->basic, sizes[which], n, plain);
    o->flush = !OLD_MPICH && draw(4) == 0 ? 1 + (int)draw(4) : 0;
    CHECK(fine, "no room in the test's arenas");
    return fine;
}

void operation_close(struct op *o)
{
    type_free(&o->type, o->basic);
    type_free(&o->origin.type, o->basic);
    type_free(&o->compare.type, o->basic);
    type_free(&o->result.type, o->basic);
}

void operation_show(const struct op *o)
{
    fprintf(stderr,
            "rank %d: %s target %d at %ld, %d elements, type %d, operator %d, origin kind %d at %zu, result kind %d at "
            "%zu, flush %d\n",
            kit_rank, call_names[o->call], o->target, (long)o->at, o->count, o->which, o->how, o->origin.kind,
            o->origin.at, o->result.kind, o->result.at, o->flush);
}
