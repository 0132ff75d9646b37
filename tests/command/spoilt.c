/* Loaded before the library's own functions: results that are wrong, for the bench to find. SPOIL names whose: calls
 * (blocking reductions; the last element of rank 0's result), the name of an algorithm (of those alone that it made),
 * stream (reductions in stream order: none is made), packs (nothing is packed nor unpacked by kernels, which rendezvous
 * need too). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/types.h"
#include "dtype/pack.h"
#include "tutti/tutti.h"

static int spoils(const char *what)
{
    const char *whose = getenv("SPOIL");
    return whose && strcmp(whose, what) == 0;
}

/* The library's own function. */
static void *own(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        fprintf(stderr, "spoilt: there is no %s\n", name);
        abort();
    }
    return function;
}
#define OWN(name, ...) ((__typeof__(name) *)own(#name))(__VA_ARGS__)

int tutti_reduce_run(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                     const char **why)
{
    const int status = OWN(tutti_reduce_run, team, call, taken, why);
    const size_t size = tutti_type_size(call->type), n = tutti_result_of(call, team->rank, team->size).count;
    unsigned char last;
    if (status != 0 || *taken != TUTTI_REDUCE_DONE || team->rank != 0 || n == 0 || (!spoils("calls") && !spoils(*why)))
        return status;
    char *at = (char *)call->out + (n - 1) * size;
    tutti_copy(&last, at, 1);
    last ^= 1;
    tutti_copy(at, &last, 1);
    return status;
}

int tutti_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream, const char **why)
{
    if (!spoils("stream"))
        return OWN(tutti_enqueue, team, call, stream, why);
    *why = "nothing";
    return 0;
}

int tutti_pack_now(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    return spoils("packs") ? 0 : OWN(tutti_pack_now, gpu, jobs, n);
}

int tutti_pack_where_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, int *reached)
{
    *reached = 1;
    return spoils("packs") ? 0 : OWN(tutti_pack_where_reached, gpu, jobs, n, reached);
}

int tutti_pack_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how)
{
    return spoils("packs") ? 0 : OWN(tutti_pack_reached, gpu, jobs, n, how);
}

/* Without a channel a launch has ended. */
int tutti_pack_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how,
                     struct tutti_pack_flight *out)
{
    *out = (struct tutti_pack_flight){.how = how};
    return spoils("packs") ? 0 : OWN(tutti_pack_begin, gpu, jobs, n, how, out);
}
