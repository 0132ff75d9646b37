/* Collectives of members on several nodes. Parts of far heaps are fetched piece by piece into memory of this PE, or
 * put from there. In between the same functions work as on near heaps, in order of PE: the results have the same
 * bits. */
#include "shmem/spread.h"

#include "shmem/far.h"
#include "shmem/host.h"

enum { PIECE = 64 * 1024 };

int tutti_shmem_move_all(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n)
{
    struct tutti_shmem_part near[TUTTI_SHMEM_PARTS];
    size_t nears = 0;
    int status = TUTTI_OK;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        if (!tutti_shmem_is_far(parts[i].to))
            near[nears++] = parts[i];
        else if (parts[i].bytes > 0)
            status = tutti_shmem_far.copy(space, parts[i].to, parts[i].from, parts[i].bytes, 1);
    }
    return status == TUTTI_OK && nears > 0 ? space->kind->move(space, near, nears) : status;
}

int tutti_shmem_clear_all(struct tutti_shmem *space, void *at, size_t bytes)
{
    static const char zeros[PIECE];
    int status = TUTTI_OK;
    if (!tutti_shmem_is_far(at))
        return space->kind->clear(space, at, bytes);
    for (size_t done = 0; done < bytes && status == TUTTI_OK; done += PIECE)
        status = tutti_shmem_far.copy(space, (char *)at + done, zeros, bytes - done < PIECE ? bytes - done : PIECE, 1);
    return status;
}

/* ---- reductions ---- */

/* One piece of a job: elements [begin, begin + count) of all its sources and targets, the far ones in `room`. */
struct piece {
    const struct tutti_shmem_job *job;
    size_t size, begin, count;
    char *room;
};

static int job_places(const struct tutti_shmem_job *job)
{
    int n = 0;
    for (int i = 0; i < job->ranks; i++)
        n += tutti_shmem_is_far(job->in[i]);
    for (int i = 0; i < job->outs; i++)
        n += tutti_shmem_is_far(job->out[i]);
    return n;
}

static int run_piece(struct tutti_shmem *space, const struct piece *p)
{
    struct tutti_shmem_job here = *p->job;
    const size_t at = p->begin * p->size, bytes = p->count * p->size;
    char *next = p->room;
    int status = TUTTI_OK;
    here.count = p->count;
    for (int i = 0; i < here.ranks && status == TUTTI_OK; i++) {
        here.in[i] = (const char *)here.in[i] + at;
        if (!tutti_shmem_is_far(here.in[i]))
            continue;
        status = tutti_shmem_far.copy(space, next, here.in[i], bytes, 1);
        here.in[i] = next;
        next += PIECE;
    }
    for (int i = 0; i < here.outs; i++) {
        here.out[i] = here.out[i] ? (char *)here.out[i] + at : NULL;
        if (!here.out[i] || !tutti_shmem_is_far(here.out[i]))
            continue;
        here.out[i] = next;
        next += PIECE;
    }
    if (status == TUTTI_OK)
        status = tutti_shmem_far_quiet(space, -1);
    if (status == TUTTI_OK)
        status = space->kind->reduce(space, &here);
    for (int i = 0; i < here.outs && status == TUTTI_OK; i++) {
        if (p->job->out[i] && tutti_shmem_is_far(p->job->out[i]))
            status = tutti_shmem_far.copy(space, (char *)p->job->out[i] + at, here.out[i], bytes, 1);
    }
    return status == TUTTI_OK ? tutti_shmem_far_fence(space, -1) : status;
}

int tutti_shmem_reduce_all(struct tutti_shmem *space, const struct tutti_shmem_job *job)
{
    const int far = space->wire ? job_places(job) : 0;
    if (far == 0)
        return space->kind->reduce(space, job);
    struct piece piece = {.job = job, .size = tutti_shmem_type_size(job->type)};
    const size_t most = PIECE / piece.size;
    int status = TUTTI_OK;
    piece.room = space->kind->room(space, (size_t)far * PIECE);
    if (!piece.room)
        return tutti_shmem_fail(space, TUTTI_ERR_MEMORY, "a reduction", "no %d KiB for parts of other nodes",
                                far * (PIECE >> 10));
    for (; piece.begin < job->count && status == TUTTI_OK; piece.begin += most) {
        piece.count = job->count - piece.begin < most ? job->count - piece.begin : most;
        status = run_piece(space, &piece);
    }
    space->kind->give(space, piece.room);
    return status;
}

/* ---- reductions of large teams: a group of members after the other, each with the sum of those before it ---- */

enum { MEMBERS = 30 };

struct large {
    const struct tutti_shmem_large_job *job;
    size_t size, at, count; /* position of this piece; `at` in bytes */
    char *sum, *prefix;     /* sum: of the members before; prefix: memory for results of scans */
    char *fetched;
};

/* The sources of members [begin, begin + n), behind `here->ranks` others. */
static int spread_fetch(struct tutti_shmem *space, const struct large *l, int begin, int n,
                        struct tutti_shmem_job *here)
{
    int status = TUTTI_OK;
    for (int i = 0; i < n && status == TUTTI_OK; i++) {
        const char *from = l->job->in[begin + i] + l->at;
        if (tutti_shmem_is_far(from)) {
            char *const room = l->fetched + (size_t)i * PIECE;
            status = tutti_shmem_far.copy(space, room, from, l->count * l->size, 1);
            from = room;
        }
        here->in[here->ranks++] = from;
    }
    return status == TUTTI_OK ? tutti_shmem_far_quiet(space, -1) : status;
}

/* Results of a scan, for those members; their sources are in the job, behind the sum of all before. */
static int spread_scan(struct tutti_shmem *space, const struct large *l, int begin, int n,
                       const struct tutti_shmem_job *with)
{
    struct tutti_shmem_job here = *with;
    const int skip = here.ranks - n;
    int status;
    here.shape = l->job->shape;
    here.outs = here.ranks;
    here.out[0] = NULL;
    for (int i = 0; i < n; i++) {
        char *const to = l->job->out[begin + i] ? l->job->out[begin + i] + l->at : NULL;
        here.out[skip + i] = to && tutti_shmem_is_far(to) ? l->prefix + (size_t)i * PIECE : to;
    }
    status = space->kind->reduce(space, &here);
    for (int i = 0; i < n && status == TUTTI_OK; i++) {
        if (l->job->out[begin + i] && tutti_shmem_is_far(l->job->out[begin + i]))
            status =
                tutti_shmem_far.copy(space, l->job->out[begin + i] + l->at, here.out[skip + i], l->count * l->size, 1);
    }
    return status == TUTTI_OK ? tutti_shmem_far_fence(space, -1) : status;
}

/* Members [begin, begin + n): the sum becomes that of all members up to them. */
static int spread_combine(struct tutti_shmem *space, struct large *l, int begin, int n)
{
    struct tutti_shmem_job here = {.type = l->job->type, .op = l->job->op, .outs = 1, .count = l->count};
    char *const next = begin == 0 ? l->sum : l->sum + PIECE == l->prefix ? l->sum - PIECE : l->sum + PIECE;
    if (begin > 0)
        here.in[here.ranks++] = l->sum;
    int status = spread_fetch(space, l, begin, n, &here);
    here.shape = TUTTI_SHAPE_ALL;
    here.out[0] = next; /* a scan still needs the sum before */
    if (status == TUTTI_OK)
        status = space->kind->reduce(space, &here);
    if (status == TUTTI_OK && l->job->shape != TUTTI_SHAPE_ALL)
        status = spread_scan(space, l, begin, n, &here);
    l->sum = next;
    return status;
}

/* Stores the sum of all into every result. */
static int spread_distribute(struct tutti_shmem *space, const struct large *l)
{
    struct tutti_shmem_part part[TUTTI_SHMEM_PARTS];
    int n = 0, status = TUTTI_OK;
    for (int i = 0; i < l->job->outs && status == TUTTI_OK; i++) {
        part[n++] = (struct tutti_shmem_part){l->job->out[i] + l->at, l->sum, l->count * l->size};
        if (n == TUTTI_SHMEM_PARTS || i == l->job->outs - 1) {
            status = tutti_shmem_move_all(space, part, (size_t)n);
            n = 0;
        }
    }
    return status == TUTTI_OK ? tutti_shmem_far_fence(space, -1) : status;
}

int tutti_shmem_reduce_large(struct tutti_shmem *space, const struct tutti_shmem_large_job *job)
{
    struct large l = {.job = job, .size = tutti_shmem_type_size(job->type)};
    const size_t most = PIECE / l.size;
    int status = TUTTI_OK;
    char *const room = space->kind->room(space, (2 + 2 * (size_t)MEMBERS) * PIECE);
    if (!room)
        return tutti_shmem_fail(space, TUTTI_ERR_MEMORY, "a reduction", "no %d KiB for parts of other nodes",
                                (2 + 2 * MEMBERS) * (PIECE >> 10));
    l.prefix = room + (size_t)2 * PIECE;
    l.fetched = l.prefix + (size_t)MEMBERS * PIECE;
    for (size_t done = 0; done < job->count && status == TUTTI_OK; done += most) {
        l.at = done * l.size;
        l.count = job->count - done < most ? job->count - done : most;
        l.sum = room;
        for (int begin = 0; begin < job->ranks && status == TUTTI_OK; begin += MEMBERS)
            status = spread_combine(space, &l, begin, job->ranks - begin < MEMBERS ? job->ranks - begin : MEMBERS);
        if (status == TUTTI_OK && job->shape == TUTTI_SHAPE_ALL)
            status = spread_distribute(space, &l);
    }
    space->kind->give(space, room);
    return status;
}
