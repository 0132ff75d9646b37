/* Collectives of members on several nodes: what is far is got piece by piece into room of this PE's own, or put from
 * there; in between the same functions work on it as on near heaps, in order of PE: the same bits. */
#include "shmem/spread.h"

#include "shmem/far.h"
#include "shmem/host.h"

enum { PIECE = 64 * 1024 };

int tutti_shmem_move_all(const struct tutti_shmem_part *parts, size_t n)
{
    struct tutti_shmem_part near[TSHMEM_PES_MAX];
    size_t nears = 0;
    int status = TUTTI_OK;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        if (!tutti_shmem_is_far(parts[i].to))
            near[nears++] = parts[i];
        else if (parts[i].bytes > 0)
            status = tutti_shmem_far.copy(parts[i].to, parts[i].from, parts[i].bytes, 1);
    }
    return status == TUTTI_OK && nears > 0 ? tutti_shmem.kind->move(near, nears) : status;
}

int tutti_shmem_clear_all(void *at, size_t bytes)
{
    static const char zeros[PIECE];
    int status = TUTTI_OK;
    if (!tutti_shmem_is_far(at))
        return tutti_shmem.kind->clear(at, bytes);
    for (size_t done = 0; done < bytes && status == TUTTI_OK; done += PIECE)
        status = tutti_shmem_far.copy((char *)at + done, zeros, bytes - done < PIECE ? bytes - done : PIECE, 1);
    return status;
}

/* ---- reductions ---- */

/* One piece of a job: elements [begin, begin + count) of all that it names, the far ones in `room`. */
struct piece {
    const struct tutti_shmem_job *job;
    size_t size, begin, count;
    char *room;
};

static int places(const struct tutti_shmem_job *job)
{
    int n = 0;
    for (int i = 0; i < job->ranks; i++)
        n += tutti_shmem_is_far(job->in[i]);
    for (int i = 0; i < job->outs; i++)
        n += tutti_shmem_is_far(job->out[i]);
    return n;
}

static int run_piece(const struct piece *p)
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
        status = tutti_shmem_far.copy(next, here.in[i], bytes, 1);
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
        status = tutti_shmem_far_quiet(-1);
    if (status == TUTTI_OK)
        status = tutti_shmem.kind->reduce(&here);
    for (int i = 0; i < here.outs && status == TUTTI_OK; i++) {
        if (p->job->out[i] && tutti_shmem_is_far(p->job->out[i]))
            status = tutti_shmem_far.copy((char *)p->job->out[i] + at, here.out[i], bytes, 1);
    }
    return status == TUTTI_OK ? tutti_shmem_far_fence(-1) : status;
}

int tutti_shmem_reduce_all(const struct tutti_shmem_job *job)
{
    const int far = tutti_shmem.wire ? places(job) : 0;
    if (far == 0)
        return tutti_shmem.kind->reduce(job);
    struct piece piece = {.job = job, .size = tutti_shmem_type_size(job->type)};
    const size_t most = PIECE / piece.size;
    int status = TUTTI_OK;
    piece.room = tutti_shmem.kind->room((size_t)far * PIECE);
    if (!piece.room)
        return tutti_shmem_fail(TUTTI_ERR_MEMORY, "a reduction", "no %d KiB for parts of other nodes",
                                far * (PIECE >> 10));
    for (; piece.begin < job->count && status == TUTTI_OK; piece.begin += most) {
        piece.count = job->count - piece.begin < most ? job->count - piece.begin : most;
        status = run_piece(&piece);
    }
    tutti_shmem.kind->give(piece.room);
    return status;
}
