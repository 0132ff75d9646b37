#include "mpi/type/envelope.h"
#include "mpi/real/handles.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    CHUNK = 16 << 10,
    KEPT = 4 << 20 /* from one reading for the next: large memory that is new costs more than reading into it */
};

int tutti_combiner_predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == TUTTI_VALUE_INDEX;
}

/* ---- memory of a reading ---- */

struct tutti_reading_chunk {
    struct tutti_reading_chunk *next;
    size_t used, room;
    max_align_t memory[];
};

static _Atomic(struct tutti_reading_chunk *) kept;

static struct tutti_reading_chunk *new_chunk(struct tutti_reading *reading, size_t bytes)
{
    struct tutti_reading_chunk *chunk = reading->chunks ? NULL : atomic_exchange(&kept, NULL);
    if (!chunk || chunk->room < bytes) {
        free(chunk);
        size_t room = bytes < CHUNK / 2 ? CHUNK : bytes + CHUNK;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->room = room;
    }
    chunk->next = reading->chunks;
    chunk->used = 0;
    reading->chunks = chunk;
    return chunk;
}

void *tutti_reading_take(struct tutti_reading *reading, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct tutti_reading_chunk *chunk = reading->chunks;
    if ((!chunk || chunk->room - chunk->used < bytes) && !(chunk = new_chunk(reading, bytes)))
        return NULL;
    void *memory = (char *)chunk->memory + chunk->used;
    chunk->used += bytes;
    return memory;
}

/* The largest of what is kept and this one stays. */
static void envelope_keep(struct tutti_reading_chunk *chunk)
{
    struct tutti_reading_chunk *there = atomic_exchange(&kept, NULL);
    if (there && there->room > chunk->room) {
        struct tutti_reading_chunk *swap = there;
        there = chunk;
        chunk = swap;
    }
    free(there);
    free(atomic_exchange(&kept, chunk));
}

void tutti_describe_end(struct tutti_reading *reading)
{
    for (size_t i = 0; i < reading->held_n; i++)
        tutti_next.MPI_Type_free(&reading->held[i]);
    free(reading->held);
    while (reading->chunks) {
        struct tutti_reading_chunk *chunk = reading->chunks;
        reading->chunks = chunk->next;
        if (chunk->room <= KEPT)
            envelope_keep(chunk);
        else
            free(chunk);
    }
    *reading = (struct tutti_reading){.why = reading->why};
}

void tutti_describe_forget(void)
{
    free(atomic_exchange(&kept, NULL));
}

/* ---- envelopes ---- */

/* The forms with large counts, where the MPI has them, know all types; the plain ones refuse types made with those. */
static int has_large(void)
{
    return tutti_next.MPI_Type_get_envelope_c && tutti_next.MPI_Type_get_contents_c;
}

int tutti_envelope(MPI_Datatype type, struct tutti_contents *out)
{
    *out = (struct tutti_contents){.combiner = MPI_COMBINER_NAMED};
    const struct tutti_type_row *row = tutti_type_find(type);
    if (row && row->host_ok) /* not one of Tutti's own */
        return TUTTI_OK;
    if (has_large()) {
        MPI_Count integers, addresses, counts, types;
        if (tutti_next.MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &out->combiner) !=
            MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
        out->integers = (size_t)integers;
        out->addresses = (size_t)addresses;
        out->counts = (size_t)counts;
        out->types = (size_t)types;
    } else {
        int integers, addresses, types;
        if (tutti_next.MPI_Type_get_envelope(type, &integers, &addresses, &types, &out->combiner) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
        out->integers = (size_t)integers;
        out->addresses = (size_t)addresses;
        out->types = (size_t)types;
    }
    out->large = out->counts > 0;
    return TUTTI_OK;
}

int tutti_type_predefined(MPI_Datatype type)
{
    struct tutti_contents what;
    return tutti_envelope(type, &what) == TUTTI_OK && tutti_combiner_predefined(what.combiner);
}

/* The handles of derived types are ours to free. All of them at the end: a freed one may be given out again. */
static int envelope_hold(struct tutti_reading *reading, const struct tutti_contents *what)
{
    int derived = 0;
    for (size_t i = 0; i < what->types; i++) {
        if (i == 0 || what->type[i] != what->type[i - 1])
            derived = !tutti_type_predefined(what->type[i]);
        if (!derived)
            continue;
        if (reading->held_n == reading->held_room) {
            size_t room = reading->held_room ? 2 * reading->held_room : 16;
            MPI_Datatype *more = realloc(reading->held, room * sizeof *more);
            if (!more)
                return TUTTI_ERR_MEMORY; /* the handles that are left over are lost */
            reading->held = more;
            reading->held_room = room;
        }
        reading->held[reading->held_n++] = what->type[i];
    }
    return TUTTI_OK;
}

int tutti_contents(struct tutti_reading *reading, MPI_Datatype type, struct tutti_contents *what)
{
    /* One piece of memory; none of the lists is empty. The MPI writes its own integers of 64 bits. */
    size_t longs = what->addresses + what->counts + 2;
    int64_t *address = tutti_reading_take(reading, longs + what->integers / 2 + 1 + what->types + 1, sizeof *address);
    if (!address)
        return TUTTI_ERR_MEMORY;
    int64_t *count = address + what->addresses + 1;
    int *integer = (int *)(void *)(address + longs), code;
    what->type = (MPI_Datatype *)(void *)(address + longs + what->integers / 2 + 1);
    if (what->large)
        code = tutti_next.MPI_Type_get_contents_c(type, (MPI_Count)what->integers, (MPI_Count)what->addresses,
                                                  (MPI_Count)what->counts, (MPI_Count)what->types, integer,
                                                  (MPI_Aint *)(void *)address, (MPI_Count *)(void *)count, what->type);
    else
        code = tutti_next.MPI_Type_get_contents(type, (int)what->integers, (int)what->addresses, (int)what->types,
                                                integer, (MPI_Aint *)(void *)address, what->type);
    if (code != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    what->integer = integer;
    what->address = address;
    what->count = count;
    return envelope_hold(reading, what);
}
