/* The model: commands on plain memory, one PE after the other, by other code than the kernels'. */
#include <stdio.h>
#include <string.h>

#include "tutti/shmem.h"

#include "core/types.h"
#include "shmem_device/program.h"
#include "support/oracle.h"

int program_size(int pes, int team)
{
    return team == 1 ? (pes + 1) / 2 : team == 3 ? pes / 2 : pes;
}

int program_world(int pes, int team, int i)
{
    return team == 1 ? 2 * i : team == 3 ? 2 * i + 1 : team == 2 ? pes - 1 - i : i;
}

int program_member(int pes, int team, int pe)
{
    for (int i = 0; i < program_size(pes, team); i++) {
        if (program_world(pes, team, i) == pe)
            return i;
    }
    return -1;
}

void program_team(struct tshmem_team_state *team, int pes, int number, int pe)
{
    memset(team, 0, sizeof *team);
    team->me = program_member(pes, number, pe);
    team->used = team->me >= 0;
    team->size = program_size(pes, number);
    team->number = (uint32_t)number;
    team->start = number == 3;
    team->stride = number == 2 ? 0 : number == 0 ? 1 : 2;
    for (int i = 0; i < team->size; i++)
        team->world[i] = program_world(pes, number, i);
}

int program_context_team(int number)
{
    static const int teams[PROGRAM_CONTEXTS] = {0, 0, 1, 2, 3, 2, 0};
    return teams[number];
}

/* Contexts are local: PEs have other numbers and turns of the same one. */
static uint64_t context_place(int number, int pe)
{
    return 1 + (uint64_t)(number * 10 + pe) % (TSHMEM_CONTEXTS_MAX - 1);
}

static uint64_t context_turn(int number, int pe)
{
    return 1 + 2 * (uint64_t)(number == 5 ? 0x7fffffff : number + pe);
}

uint64_t program_context(int pes, int number, int pe)
{
    if (number == 0)
        return 1; /* TSHMEM_CTX_DEFAULT */
    if (program_member(pes, program_context_team(number), pe) < 0)
        return 0;
    return context_turn(number, pe) << TSHMEM_CONTEXT_BITS | (context_place(number, pe) + 1);
}

void program_contexts(uint64_t *words, int pes, int pe)
{
    memset(words, 0, TSHMEM_CONTEXTS_MAX * sizeof *words);
    for (int i = 1; i < PROGRAM_CONTEXTS; i++) {
        if (program_context(pes, i, pe))
            words[context_place(i, pe)] = context_turn(i, pe) << 32 | (uint64_t)program_context_team(i);
    }
}

struct model {
    const struct program *program;
    struct program_heap **heaps;
};

static char *at(const struct model *model, int pe, uint64_t offset)
{
    return (char *)model->heaps[pe] + offset;
}

/* What a PE keeps of bytes that have come to it. */
static uint64_t came(const unsigned char *bytes, uint64_t n)
{
    return n == 0 ? 1 : (uint64_t)bytes[0] << 16 | (uint64_t)bytes[n / 2] << 8 | bytes[n - 1];
}

/* The PE of the world that a command names. */
static int target(const struct model *model, const struct command *c)
{
    return c->ctx ? program_world(model->program->pes, c->team, c->pe) : c->pe;
}

static void keep(const struct model *model, int pe, const struct command *c, uint64_t value)
{
    if (c->result)
        memcpy(at(model, pe, c->result), &value, sizeof value);
}

static void blocks(char *to, const char *from, const struct command *c, uint64_t block)
{
    for (uint64_t i = 0; i < c->n; i++)
        memcpy(to + (int64_t)i * c->dst * (int64_t)c->bytes, from + (int64_t)i * c->sst * (int64_t)c->bytes,
               block * c->bytes);
}

static void add_floating(void *to, const void *value, size_t bytes)
{
    float f, g;
    double d, e;
    if (bytes == 4) {
        memcpy(&f, to, 4);
        memcpy(&g, value, 4);
        f += g;
        memcpy(to, &f, 4);
    } else {
        memcpy(&d, to, 8);
        memcpy(&e, value, 8);
        d += e;
        memcpy(to, &d, 8);
    }
}

static void atomic(const struct model *model, int pe, const struct command *c)
{
    char *const to = at(model, target(model, c), c->dest);
    uint64_t before = 0, after, value = c->value, compare = c->compare;
    memcpy(&before, to, c->bytes);
    if (c->bytes == 4) {
        value &= 0xffffffffu;
        compare &= 0xffffffffu;
    }
    after = c->op == TSHMEM_AMO_SET || c->op == TSHMEM_AMO_SWAP ? value
            : c->op == TSHMEM_AMO_COMPARE_SWAP                  ? (before == compare ? value : before)
            : c->op == TSHMEM_AMO_ADD                           ? before + value
            : c->op == TSHMEM_AMO_AND                           ? (before & value)
            : c->op == TSHMEM_AMO_OR                            ? (before | value)
            : c->op == TSHMEM_AMO_XOR                           ? (before ^ value)
                                                                : before;
    memcpy(to, &after, c->bytes);
    if (c->op == TSHMEM_AMO_ADD_FLOAT)
        add_floating(to, &c->value, c->bytes);
    keep(model, pe, c, c->op == TSHMEM_AMO_SET || c->extra == 1 || c->extra == 4 ? 0 : before);
}

/* A word of a wait as a number: by its type's sign. */
static int64_t number(const void *from, int type)
{
    const size_t bytes = (size_t)1 << type / 2;
    uint64_t bits = 0;
    memcpy(&bits, from, bytes);
    const int unused = 64 - 8 * (int)bytes;
    return type % 2 ? (int64_t)bits : (int64_t)(bits << unused) >> unused;
}

static int compares(int type, int comparison, int64_t a, int64_t b)
{
    const int less = type % 2 ? (uint64_t)a < (uint64_t)b : a < b, equal = a == b;
    const int truth[] = {equal, !equal, !less && !equal, !less, less, less || equal};
    return truth[comparison];
}

static void waits(const struct model *model, int pe, const struct command *c)
{
    const size_t bytes = (size_t)1 << c->type / 2;
    uint64_t found = 0, some = 0, first = UINT64_MAX, looked = 0;
    for (uint64_t i = 0; i < c->n; i++) {
        if (c->mask >> i & 1)
            continue;
        const uint64_t value = c->value + (c->op & TSHMEM_WAIT_VECTOR ? i : 0);
        looked++;
        if (compares(c->type, c->extra, number(at(model, pe, c->dest + i * bytes), c->type), number(&value, c->type))) {
            first = first == UINT64_MAX ? i : first;
            some += (i + 1) << (8 + 4 * found++);
        }
    }
    const int all = found == looked;
    if (!(c->op & TSHMEM_WAIT_TEST) && ((c->op & 3) == TSHMEM_WAIT_ALL ? !all : found == 0 && looked > 0))
        fprintf(stderr, "the model would wait forever\n");
    keep(model, pe, c,
         (c->op & 3) == TSHMEM_WAIT_ALL   ? (c->op & TSHMEM_WAIT_TEST ? (uint64_t)all : 1)
         : (c->op & 3) == TSHMEM_WAIT_ANY ? first
                                          : found + some);
}

static long double combine_long(int op, long double a, long double b)
{
    if (op == TSHMEM_OP_SUM || op == TSHMEM_OP_PROD)
        return op == TSHMEM_OP_SUM ? a + b : a * b;
    const int takes = op == TSHMEM_OP_MAX ? b > a : b < a;
    return takes || b != b ? b : a;
}

/* n elements of the first `ranks` contributions. */
static void reduce(void *out, const char *const in[], int ranks, uint64_t n, int type, int op)
{
    static const int operators[] = {TUTTI_OP_BAND, TUTTI_OP_BOR, TUTTI_OP_BXOR, TUTTI_OP_MAX,
                                    TUTTI_OP_MIN,  TUTTI_OP_SUM, TUTTI_OP_PROD};
    if (type != TSHMEM_ID_LONGDOUBLE) {
        const struct oracle_case what = {.type = type, .op = operators[op]};
        const void *contributions[PROGRAM_PES];
        for (int r = 0; r < ranks; r++)
            contributions[r] = in[r];
        oracle_reduce(out, &what, ranks, contributions, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        long double sum, next;
        char *const to = (char *)out + 16 * i;
        memcpy(&sum, in[0] + 16 * i, 16);
        for (int r = 1; r < ranks; r++) {
            memcpy(&next, in[r] + 16 * i, 16);
            sum = combine_long(op, sum, next);
        }
        memset(to, 0, 16);
        memcpy(to, ranks == 1 ? (const void *)(in[0] + 16 * i) : (const void *)&sum, ranks == 1 ? 16 : 10);
    }
}

/* What a tree gives to contribution `first`, which takes over what `width` hold: the halves' results are two of their
 * own. As in tutti/device/grid.h, where strategy 5 is it. */
enum { TREE = 5 };
static void tree(char *out, const char *const in[], int ranks, int first, int width, const struct command *c)
{
    const size_t bytes = c->n * c->bytes;
    if (width == 1 || first + width / 2 >= ranks) {
        if (width == 1)
            memcpy(out, in[first], bytes);
        else
            tree(out, in, ranks, first, width / 2, c);
        return;
    }
    char left[PROGRAM_WORK], right[PROGRAM_WORK];
    const char *const both[] = {left, right};
    tree(left, in, ranks, first, width / 2, c);
    tree(right, in, ranks, first + width / 2, width / 2, c);
    reduce(out, both, 2, c->n, c->type, c->op);
}

/* A collective: all members' commands of that index, at once. */
static void collective(const struct model *model, int index, int team)
{
    static char in[PROGRAM_PES][PROGRAM_PART];
    static char out[PROGRAM_PART];
    const int pes = model->program->pes, size = program_size(pes, team);
    const char *sources[PROGRAM_PES];
    uint64_t before = 0;
    for (int i = 0; i < size; i++) {
        const int pe = program_world(pes, team, i);
        const uint64_t from = model->program->list[pe][index].source, most = sizeof(struct program_heap) - from;
        memcpy(in[i], at(model, pe, from), most < PROGRAM_PART ? most : PROGRAM_PART);
        sources[i] = in[i];
    }
    for (int s = 0; s < size; s++) {
        const struct command *const own = &model->program->list[program_world(pes, team, s)][index];
        const uint64_t length = own->n * own->bytes;
        for (int i = 0; i < size; i++) {
            const int pe = program_world(pes, team, i);
            const struct command *const c = &model->program->list[pe][index];
            char *const to = at(model, pe, c->dest);
            const char *block[PROGRAM_PES];
            for (int r = 0; r < size; r++)
                block[r] = sources[r] + (uint64_t)i * length;
            if (c->call == CALL_BROADCAST && s == c->pe) {
                memcpy(to, in[s], length);
            } else if (c->call == CALL_COLLECT) {
                memcpy(to + before, in[s], length);
            } else if (c->call == CALL_FCOLLECT) {
                memcpy(to + (uint64_t)s * length, in[s], length);
            } else if (c->call == CALL_ALLTOALL) {
                memcpy(to + (uint64_t)s * length, in[s] + (uint64_t)i * length, length);
            } else if (c->call == CALL_ALLTOALLS) {
                blocks(to + (int64_t)((uint64_t)s * length) * c->dst, in[s] + (int64_t)((uint64_t)i * length) * c->sst,
                       c, 1);
            } else if (c->call == CALL_REDUCE && s == 0) {
                reduce(to, sources, size, c->n, c->type, c->op);
            } else if (c->call == CALL_REDUCESCATTER && s == 0) {
                reduce(out, block, size, c->n, c->type, c->op);
                memcpy(to, out, length);
            } else if (c->call == CALL_GRID && s == 0 && (c->value == 0 || c->value == (uint64_t)i + 1)) {
                if (c->extra == TREE)
                    tree(to, sources, size, 0, PROGRAM_PES, c);
                else
                    reduce(to, sources, size, c->n, c->type, c->op);
            } else if (c->call == CALL_SCAN && s == 0) {
                memset(to, 0, length);
                if (i > 0 || !c->op)
                    reduce(to, sources, c->op ? i : i + 1, c->n, c->type, TSHMEM_OP_SUM);
            }
            keep(model, pe, c, 0);
        }
        before += length;
    }
}

static void step(const struct model *model, int pe, const struct command *c, int index)
{
    const int pes = model->program->pes, there = target(model, c);
    uint64_t *const signal = (uint64_t *)(void *)at(model, there, c->signal);
    switch (c->call) {
    case CALL_PUT:
    case CALL_PUT_NBI:
    case CALL_PUT_SIZED:
    case CALL_STORE:
    case CALL_P:
    case CALL_PUT_SIGNAL:
    case CALL_PUT_SIGNAL_NBI:
        memcpy(at(model, there, c->dest), at(model, pe, c->source), c->n * c->bytes);
        if (c->call == CALL_PUT_SIGNAL || c->call == CALL_PUT_SIGNAL_NBI)
            *signal = c->op == TSHMEM_SIGNAL_ADD ? *signal + c->value : c->value;
        break;
    case CALL_GET:
    case CALL_GET_NBI:
    case CALL_GET_SIZED:
    case CALL_G:
        memcpy(at(model, pe, c->dest), at(model, there, c->source), c->n * c->bytes);
        if (c->call == CALL_GET_NBI)
            keep(model, pe, c, came((const unsigned char *)at(model, pe, c->dest), c->n * c->bytes));
        break;
    case CALL_IPUT:
    case CALL_IBPUT:
        blocks(at(model, there, c->dest), at(model, pe, c->source), c, c->block);
        break;
    case CALL_IGET:
    case CALL_IBGET:
        blocks(at(model, pe, c->dest), at(model, there, c->source), c, c->block);
        break;
    case CALL_SIGNAL_SET:
        *signal = c->value;
        break;
    case CALL_SIGNAL_ADD:
        *signal += c->value;
        break;
    case CALL_SIGNAL_FETCH:
    case CALL_SIGNAL_WAIT:
        keep(model, pe, c, *(uint64_t *)(void *)at(model, pe, c->signal));
        break;
    case CALL_AMO:
        atomic(model, pe, c);
        break;
    case CALL_WAIT:
        waits(model, pe, c);
        break;
    case CALL_TEAM: {
        const int me = program_member(pes, c->team, pe);
        int other = me >= 0 && c->pe < program_size(pes, c->team)
                        ? program_member(pes, c->op, program_world(pes, c->team, c->pe))
                        : -1;
        other = program_member(pes, c->op, pe) >= 0 ? other : -1;
        keep(model, pe, c,
             (uint64_t)(me + 1) << 48 | (uint64_t)((me >= 0 ? program_size(pes, c->team) : -1) + 1) << 32 |
                 (uint64_t)(other + 1) << 16 | (uint64_t)(pe << 8 | pes << 2 | 1 << 1 | 1));
        break;
    }
    case CALL_CONTEXT:
        keep(model, pe, c, (uint64_t)(c->team + 2) << 8 | 1);
        break;
    case CALL_NONE:
    case CALL_FENCE:
    case CALL_QUIET:
    case CALL_PE_QUIET:
        break;
    default: /* of a collective, the first member's command stands for all */
        if (program_member(pes, c->team, pe) == 0)
            collective(model, index, c->team);
        break;
    }
}

void program_model(const struct program *program, struct program_heap *heaps[])
{
    const struct model model = {program, heaps};
    for (int i = 0; i < program->count; i++) {
        for (int pe = 0; pe < program->pes; pe++)
            step(&model, pe, &program->list[pe][i], i);
    }
}
