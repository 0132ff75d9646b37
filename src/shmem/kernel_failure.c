/* What kernels have left of why they gave up (tutti/shmem_failure.h), in words. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/types.h"
#include "shmem/meet.h"

enum { TEXT = 200, PAUSE_US = 100, PAUSES = 1000 }; /* the record of a kernel that has given up comes within 0.1 s */

/* The record, unpacked. */
struct failure {
    uint32_t operation, reason;
    int pe, team;
    uint32_t block[3], thread[3];
    uint64_t address, bytes;
};

struct operation {
    const char *name, *word;
};

static struct operation operation_of(uint32_t number)
{
    static const struct operation operations[] = {
#define ROW(id, name, word) [TSHMEM_KERNEL_##id] = {name, word},
        TSHMEM_KERNEL_OPERATIONS(ROW)
#undef ROW
    };
    static const struct operation none = {"a call", "for"};
    return number < TSHMEM_KERNEL_OPERATION_COUNT ? operations[number] : none;
}

static int status_of(uint32_t reason)
{
    return reason == TSHMEM_WHY_TOO_LONG    ? TUTTI_ERR_TIMEOUT
           : reason == TSHMEM_WHY_UNDER_WAY ? TUTTI_ERR_BROKEN
           : reason == TSHMEM_WHY_NO_WAY    ? TUTTI_ERR_UNAVAILABLE
                                            : TUTTI_ERR_ARGUMENT;
}

/* own: of this PE, whose heap and teams are known here. */
static void say_outside(const struct failure *f, int own, char text[TEXT])
{
    const struct tutti_shmem *space = &tutti_shmem;
    if (own)
        snprintf(text, TEXT,
                 "%" PRIu64 " bytes at 0x%" PRIx64 " are not in the heap, %p to %p: tshmem_malloc gives such", f->bytes,
                 f->address, (void *)(space->state.heap + space->first),
                 (void *)(space->state.heap + tutti_shmem_mapped(space)));
    else
        snprintf(text, TEXT, "%" PRIu64 " bytes at 0x%" PRIx64 " are not in its heap: tshmem_malloc gives such",
                 f->bytes, f->address);
}

static void say_no_operation(const struct failure *f, char text[TEXT])
{
    static const char *const names[TSHMEM_OPS] = {
        [TSHMEM_OP_AND] = "and", [TSHMEM_OP_OR] = "or",   [TSHMEM_OP_XOR] = "xor",  [TSHMEM_OP_MAX] = "max",
        [TSHMEM_OP_MIN] = "min", [TSHMEM_OP_SUM] = "sum", [TSHMEM_OP_PROD] = "prod"};
    const char *type = f->address < TUTTI_TYPES ? tutti_type_name((int)f->address) : "such a type";
    snprintf(text, TEXT, "kernels have no \"%s\" for elements of %s", f->bytes < TSHMEM_OPS ? names[f->bytes] : "?",
             type);
}

static void say_too_long(const struct failure *f, int own, char text[TEXT])
{
    static const char limit[] = "longer than TUTTI_TIMEOUT_SECONDS";
    const struct tshmem_team_state *const team = own ? tutti_shmem_team(f->team) : NULL;
    if (f->pe < 0)
        snprintf(text, TEXT, "it waited for the word at 0x%" PRIx64 " %s", f->address, limit);
    else if (team && f->pe < team->size)
        snprintf(text, TEXT, "it waited for PE %d %s", team->world[f->pe], limit);
    else
        snprintf(text, TEXT, "it waited for member %d of the team %s", f->pe, limit);
}

static void say_why(const struct failure *f, int own, char text[TEXT])
{
    switch (f->reason) {
    case TSHMEM_WHY_NOT_SYMMETRIC:
        say_outside(f, own, text);
        break;
    case TSHMEM_WHY_NOT_GLOBAL:
        snprintf(text, TEXT, "%" PRIu64 " bytes at 0x%" PRIx64 " are neither in the heap nor in global memory",
                 f->bytes, f->address);
        break;
    case TSHMEM_WHY_NO_PE:
        snprintf(text, TEXT, "there is no PE %d, but 0 to %d", f->pe, tutti_shmem.state.pes - 1);
        break;
    case TSHMEM_WHY_NO_WAY:
        snprintf(text, TEXT, "loads and stores do not reach PE %d, and there is no ring (TUTTI_SHMEM_RING)", f->pe);
        break;
    case TSHMEM_WHY_NO_TEAM:
        snprintf(text, TEXT, "%d is no team of this PE", f->team);
        break;
    case TSHMEM_WHY_NO_CONTEXT:
        snprintf(text, TEXT, "0x%" PRIx64 " is no context, or has ended", f->address);
        break;
    case TSHMEM_WHY_NO_CONTEXT_PE:
        snprintf(text, TEXT, "there is no PE %d in the context's team of %" PRIu64, f->pe, f->bytes);
        break;
    case TSHMEM_WHY_NO_ROOT:
        snprintf(text, TEXT, "the root %d is no PE of team %d", f->pe, f->team);
        break;
    case TSHMEM_WHY_NO_OPERATION:
        say_no_operation(f, text);
        break;
    case TSHMEM_WHY_NO_STRIDE:
        snprintf(text, TEXT, "a stride of %" PRId64 " elements: it begins with 1", (int64_t)f->bytes);
        break;
    case TSHMEM_WHY_NO_WORK:
        snprintf(text, TEXT,
                 "%" PRIu64 " bytes of work at 0x%" PRIx64
                 " are fewer than tutti_grid_work_bytes() or not aligned to 16, or there is no such strategy",
                 f->bytes, f->address);
        break;
    case TSHMEM_WHY_UNDER_WAY:
        snprintf(text, TEXT, "another collective of team %d was under way in a kernel of this PE", f->team);
        break;
    case TSHMEM_WHY_TOO_LONG:
        say_too_long(f, own, text);
        break;
    default:
        snprintf(text, TEXT, "it failed");
    }
}

/* Where the kernel was, and what it called. */
static void say_where(const struct failure *f, int pe, char where[TEXT])
{
    snprintf(where, TEXT, "in a kernel, block (%u,%u,%u), thread (%u,%u,%u) of PE %d", f->block[0], f->block[1],
             f->block[2], f->thread[0], f->thread[1], f->thread[2], pe);
}

static void say_call(const struct failure *f, char call[TEXT])
{
    const struct operation operation = operation_of(f->operation);
    if (f->team >= 0)
        snprintf(call, TEXT, "%s of team %d", operation.name, f->team);
    else if (f->pe >= 0)
        snprintf(call, TEXT, "%s %s PE %d", operation.name, operation.word, f->pe);
    else
        snprintf(call, TEXT, "%s", operation.name);
}

static void say(const struct failure *f, int pe)
{
    char where[TEXT], call[TEXT], why[TEXT];
    const int own = pe == tutti_shmem.state.me;
    say_where(f, pe, where);
    say_call(f, call);
    say_why(f, own, why);
    tutti_shmem_fail(own ? status_of(f->reason) : TUTTI_ERR_BROKEN, where, "%s: %s", call, why);
}

/* A copy of that PE's record; 0: there is none. */
static int read_record(int pe, struct failure *out)
{
    const struct tutti_shmem_control *control = tutti_shmem.control[pe];
    if (!control || !__atomic_load_n(&control->failure.ready, __ATOMIC_ACQUIRE))
        return 0;
    const struct tshmem_failure f = control->failure;
    const uint32_t thread = (uint32_t)(f.call >> 32);
    *out = (struct failure){.operation = f.call & 0xff,
                            .reason = f.call >> 8 & 0xff,
                            .pe = (int32_t)(f.who >> 32),
                            .team = (int32_t)(uint32_t)f.who,
                            .block = {(uint32_t)(f.block >> 32), f.block >> 16 & 0xffff, f.block & 0xffff},
                            .thread = {thread & 0x3ff, thread >> 10 & 0x3ff, thread >> 20},
                            .address = f.address,
                            .bytes = f.bytes};
    return 1;
}

/* What has no record: the kernel did not stop for it. */
static void say_word(uint32_t word)
{
    static const char where[] = "in a kernel";
    const int me = tutti_shmem.state.me;
    if ((word & 0xff) == TSHMEM_ABORT_NO_WAY)
        tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, where,
                         "a collective of PE %d came to PE %u, which its loads and stores do not reach", me, word >> 8);
    else if (word == TSHMEM_ABORT_GRID)
        tutti_shmem_fail(TUTTI_ERR_TIMEOUT, where,
                         "blocks of a grid of PE %d waited for others longer than TUTTI_TIMEOUT_SECONDS: tutti_grid_ "
                         "calls are made by all threads of a grid that is launched cooperatively",
                         me);
    else
        tutti_shmem_fail(TUTTI_ERR_BROKEN, where, "PE %d gave up, and has not said why", me);
}

/* PE whose record is there, from the own one on; -1: none. A kernel of this PE that has just given up fills its one. */
static int find_record(uint32_t word, struct failure *out)
{
    const int me = tutti_shmem.state.me;
    for (int i = 0; !read_record(me, out); i++) {
        if (word != TSHMEM_ABORT_KERNEL || i == PAUSES)
            break;
        usleep(PAUSE_US);
    }
    for (int i = 0; i < tutti_shmem.state.pes; i++) {
        const int pe = (me + i) % tutti_shmem.state.pes;
        if (read_record(pe, out))
            return pe;
    }
    return -1;
}

void tutti_shmem_kernel_look(void)
{
    struct tutti_shmem *space = &tutti_shmem;
    struct failure record;
    const uint32_t word = __atomic_load_n(space->state.abort, __ATOMIC_ACQUIRE);
    if (word == 0 || atomic_load(&space->failure_told))
        return;
    const int pe = find_record(word, &record), by_word = pe < 0 && (word & 0xff) > TSHMEM_ABORT_TOLD;
    if ((pe < 0 && !by_word) || atomic_exchange(&space->failure_told, 1))
        return;
    if (by_word)
        say_word(word);
    else
        say(&record, pe);
    tutti_shmem_leave_all(); /* the others may wait */
}
