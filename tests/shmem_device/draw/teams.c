/* Rounds of collectives, and of questions to teams and contexts. */
#include "shmem_device/draw/draw.h"

/* Elements a PE of a collective: around the most that go as packets too. */
static uint64_t draw_collective_count(struct draw *d, uint64_t most, uint64_t bytes)
{
    const uint64_t limit = (below(d, 2) ? 4096 : below(d, 16) * 256) / bytes, near = limit + below(d, 5);
    return below(d, 4) == 0 && near >= 2 && near - 2 < most ? near - 2 : draw_count(d, most);
}

static void draw_collective(struct draw *d, int team)
{
    const int pes = d->program->pes, size = program_size(pes, team);
    const int call = CALL_BROADCAST + (int)below(d, CALLS - CALL_BROADCAST), form = draw_form(d);
    struct command same = {.call = call, .row = ROW_NONE, .team = team, .block = 1, .dst = 1, .sst = 1};
    const int reduces = call == CALL_REDUCE || call == CALL_REDUCESCATTER || call == CALL_SCAN;
    draw_elements(d, &same, reduces ? 0 : FAMILY_RMA);
    if (reduces && d->typed) {
        if (d->row_count == 0)
            return;
        same.row = draw_row(d, 0);
        same.type = program_rows[same.row].type;
        same.bytes = program_rows[same.row].bytes;
    }
    if (reduces) {
        if (same.row == ROW_NONE) {
            same.type = (int)below(d, TSHMEM_ID_LONGDOUBLE);
            static const uint64_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
            same.bytes = bytes[same.type];
        }
        const int complex_type = same.type == TSHMEM_ID_COMPLEXF || same.type == TSHMEM_ID_COMPLEXD;
        const int bits =
            same.type < TSHMEM_ID_HALF && (same.row == ROW_NONE || (program_families(same.row) & FAMILY_BITS));
        same.op = call == CALL_SCAN ? (int)below(d, 2)
                  : complex_type    ? TSHMEM_OP_SUM + (int)below(d, 2)
                  : bits            ? (int)below(d, TSHMEM_OPS)
                                    : TSHMEM_OP_MAX + (int)below(d, 4);
    }
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

/* One behind the other, of one team or of several, with barriers between or not. */
void draw_round_of_collectives(struct draw *d)
{
    const int pes = d->program->pes, one = below(d, 2) != 0, barriers = below(d, 2) != 0;
    int team = below(d, 2) ? 0 : (int)below(d, PROGRAM_TEAMS);
    for (int i = 0, n = 1 + (int)below(d, below(d, 2) ? 20 : 3); i < n; i++) {
        team = one ? team : (int)below(d, PROGRAM_TEAMS);
        if (program_size(pes, team) > 0)
            draw_collective(d, team);
        if (barriers && below(d, 2))
            barrier(d);
    }
}

void draw_round_of_questions(struct draw *d)
{
    for (int pe = 0; pe < d->program->pes; pe++) {
        struct command *const c = next(d, pe);
        c->call = CALL_TEAM;
        c->team = (int)below(d, PROGRAM_TEAMS);
        c->op = (int)below(d, PROGRAM_TEAMS);
        c->pe = (int)below(d, PROGRAM_PES);
        const int number = (int)below(d, PROGRAM_CONTEXTS);
        if (below(d, 2) && program_context(d->program->pes, number, pe)) {
            c->call = CALL_CONTEXT;
            c->ctx = program_context(d->program->pes, number, pe);
            c->team = program_context_team(number);
            c->pe = 0;
        }
        gives_back(d, c);
    }
    index_ends(d);
}
