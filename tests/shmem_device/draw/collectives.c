/* Draws collectives, those of whole grids among them. */
#include "shmem_device/draw/draw.h"

/* Elements a PE of a collective: around the most that go as packets too. */
static uint64_t draw_collective_count(struct draw *d, uint64_t most, uint64_t bytes)
{
    const uint64_t limit = (below(d, 2) ? 4096 : below(d, 16) * 256) / bytes, near = limit + below(d, 5);
    return below(d, 4) == 0 && near >= 2 && near - 2 < most ? near - 2 : draw_count(d, most);
}

/* Type and operation; 0: typed names of none are here. */
static int draw_reduction(struct draw *d, struct command *same)
{
    if (d->kind->typed) {
        if (d->row_count == 0)
            return 0;
        same->row = draw_row(d, 0);
        same->type = program_rows[same->row].type;
        same->bytes = program_rows[same->row].bytes;
    } else if (same->row == ROW_NONE) {
        static const uint64_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
        same->type = (int)below(d, TSHMEM_ID_LONGDOUBLE);
        same->bytes = bytes[same->type];
    }
    const int complex_type = same->type == TSHMEM_ID_COMPLEXF || same->type == TSHMEM_ID_COMPLEXD;
    const int bits =
        same->type < TSHMEM_ID_HALF && (same->row == ROW_NONE || (program_families(same->row) & FAMILY_BITS));
    same->op = same->call == CALL_SCAN ? (int)below(d, 2)
               : complex_type          ? TSHMEM_OP_SUM + (int)below(d, 2)
               : bits                  ? (int)below(d, TSHMEM_OPS)
                                       : TSHMEM_OP_MAX + (int)below(d, 4);
    return 1;
}

static void draw_collective(struct draw *d, int team)
{
    const int pes = d->program->pes, size = program_size(pes, team);
    const int call = CALL_BROADCAST + (int)below(d, CALL_GRID - CALL_BROADCAST), form = draw_form(d);
    struct command same = {.call = call, .row = ROW_NONE, .team = team, .block = 1, .dst = 1, .sst = 1};
    const int reduces = call == CALL_REDUCE || call == CALL_REDUCESCATTER || call == CALL_SCAN;
    draw_elements(d, &same, reduces ? 0 : FAMILY_RMA);
    if (reduces && !draw_reduction(d, &same))
        return;
    if (call == CALL_BROADCAST)
        same.pe = (int)below(d, (uint64_t)size);
    if (call == CALL_ALLTOALLS) {
        same.dst = 1 + (int64_t)below(d, 3);
        same.sst = 1 + (int64_t)below(d, 3);
    }
    const uint64_t strides = call == CALL_ALLTOALLS ? 3 : 1;
    const uint64_t most = (PROGRAM_PART - 64) / same.bytes / (uint64_t)size / strides, unit = same.bytes;
    same.n = draw_collective_count(d, most, same.bytes);
    const uint64_t reach = same.n * same.bytes * (uint64_t)size * strides;
    same.dest = AT(out) + draw_offset(d, PROGRAM_PART, call == CALL_COLLECT ? PROGRAM_PART - 64 : reach, unit);
    same.source = AT(in) + draw_offset(d, PROGRAM_PART, call == CALL_COLLECT ? PROGRAM_PART - 64 : reach, unit);
    if ((reduces || call == CALL_BROADCAST) && below(d, 4) == 0)
        same.source = same.dest;
    for (int i = 0; i < size; i++) {
        const int pe = program_world(pes, team, i);
        struct command *const c = next(d, pe);
        *c = same;
        c->form = below(d, 4) ? form : draw_form(d);
        if (call == CALL_COLLECT)
            c->n = below(d, 2) ? draw_collective_count(d, most, same.bytes) : below(d, 40) < most ? below(d, 40) : most;
        gives_back(d, c);
    }
    index_ends(d);
}

/* As tutti/device/grid.h has them. */
enum { GLOBAL, SHARED, REGISTERS, PLACES, STRATEGIES = 6 };

/* A reduction of a whole grid; all lengths that the work has room for. */
static void draw_grid(struct draw *d, int team)
{
    const int pes = d->program->pes, size = program_size(pes, team), where = (int)below(d, PLACES);
    const uint64_t blocks = d->kind->blocks, all = blocks * d->kind->threads;
    const uint64_t parts = where == GLOBAL ? 1 : where == SHARED ? blocks : all;
    struct command same = {.call = CALL_GRID, .row = ROW_NONE, .team = team, .block = (uint64_t)where};
    same.value = below(d, 2) ? 0 : 1 + below(d, (uint64_t)size);
    same.extra = (int)below(d, STRATEGIES);
    same.dst = (int64_t)parts;
    draw_elements(d, &same, 0);
    if (!draw_reduction(d, &same) || same.type == TSHMEM_ID_LONGDOUBLE)
        return;
    const uint64_t room_of_one = where == GLOBAL ? PROGRAM_WORK : where == SHARED ? PROGRAM_OPERAND : PROGRAM_THREAD;
    const uint64_t work = (uint64_t)PROGRAM_WORK / 2 / ((uint64_t)size + 1) / 16 * 16 / same.bytes / parts;
    const uint64_t most = work < room_of_one / same.bytes ? work : room_of_one / same.bytes;
    same.n = draw_count(d, most) * parts;
    same.dest = AT(out) + draw_offset(d, PROGRAM_PART, same.n * same.bytes, same.bytes);
    same.source = below(d, 4) ? AT(in) + draw_offset(d, PROGRAM_PART, same.n * same.bytes, same.bytes) : same.dest;
    for (int i = 0; i < size; i++) {
        const int pe = program_world(pes, team, i);
        *next(d, pe) = same;
        gives_back(d, &d->program->list[pe][d->program->count]);
    }
    index_ends(d);
}

/* One behind the other, of one team or of several, with barriers between or not. */
void program_draw_collectives(struct draw *d)
{
    const int pes = d->program->pes, one = below(d, 2) != 0, barriers = below(d, 2) != 0;
    int team = below(d, 2) ? 0 : (int)below(d, PROGRAM_TEAMS);
    for (int i = 0, n = 1 + (int)below(d, below(d, 2) ? 20 : 3); i < n; i++) {
        team = one ? team : (int)below(d, PROGRAM_TEAMS);
        if (program_size(pes, team) > 0)
            (d->kind->blocks > 0 && below(d, 4) == 0 ? draw_grid : draw_collective)(d, team);
        if (barriers && below(d, 2))
            program_draw_barrier(d);
    }
}
