/* Messages of random programs that are sent or received as MPI_PACKED: an end packs its elements before the send, or
 * unpacks them behind the receive. The other end may pass the elements themselves. */
#include <stdlib.h>

#include "programs_pack.h"
#include "tutti/tutti.h"

static size_t packed_bytes(const struct prog_end *end)
{
    return end->n * prog_element_bytes[end->side.layout.element];
}

static int is_of_host(const struct prog_end *end)
{
    return end->packed == 1 || kit_plain;
}

static void *packed_room(struct prog_run *run, const struct prog_end *end)
{
    const size_t bytes = packed_bytes(end) + 1; /* a pointer also for none */
    void *at = is_of_host(end) ? malloc(bytes) : NULL;
    if (!is_of_host(end) && tutti_alloc(bytes, &at) != 0)
        at = NULL;
    prog_check(run, at != NULL, "no memory for %zu packed bytes", bytes);
    return at;
}

struct prog_given prog_pack(struct prog_run *run, int r)
{
    const struct prog_end *end = &run->p->end[run->p->req[r].end];
    struct prog_given given = {prog_address(run, &end->side), prog_type_of(run, &end->side), end->side.count[0]};
    const int bytes = (int)packed_bytes(end);
    int position = 0, error = MPI_SUCCESS;
    if (!end->packed)
        return given;
    run->pack[r] = packed_room(run, end);
#if MPI_VERSION >= 4
    if (!end->receives && end->side.wide) {
        MPI_Count wide = 0;
        error = MPI_Pack_c(given.at, given.count, given.type, run->pack[r], bytes, &wide, run->comm[end->comm]);
        position = (int)wide;
    } else
#endif
        if (!end->receives)
        error = MPI_Pack(given.at, given.count, given.type, run->pack[r], bytes, &position, run->comm[end->comm]);
    prog_check(run, error == MPI_SUCCESS && (end->receives || position == bytes),
               "#%d: MPI_Pack of %d bytes: position %d, error class %d", r, bytes, position, kit_class(error));
    return (struct prog_given){run->pack[r], MPI_PACKED, bytes};
}

void prog_unpack(struct prog_run *run, int r)
{
    const struct prog_end *end = &run->p->end[run->p->req[r].end];
    const int bytes = (int)packed_bytes(end);
    void *const to = prog_address(run, &end->side);
    const MPI_Datatype type = prog_type_of(run, &end->side);
    int position = 0, error;
#if MPI_VERSION >= 4
    if (end->side.wide) {
        MPI_Count wide = 0;
        error = MPI_Unpack_c(run->pack[r], bytes, &wide, to, end->side.count[0], type, run->base);
        position = (int)wide;
    } else
#endif
        error = MPI_Unpack(run->pack[r], bytes, &position, to, end->side.count[0], type, run->base);
    prog_type_done(run);
    prog_check(run, error == MPI_SUCCESS && position == bytes,
               "#%d: MPI_Unpack of %d bytes: position %d, error class %d", r, bytes, position, kit_class(error));
}

void prog_packs_free(struct prog_run *run)
{
    for (int r = 0; r < run->p->reqs; r++) {
        if (run->pack[r] && is_of_host(&run->p->end[run->p->req[r].end]))
            free(run->pack[r]);
        else if (run->pack[r])
            CHECK(tutti_free(run->pack[r]) == 0, "packed bytes are not freed");
        run->pack[r] = NULL;
    }
}
