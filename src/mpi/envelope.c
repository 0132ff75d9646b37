#include "mpi/envelope.h"

#include <stdlib.h>

enum { CHUNK = 16 << 10 };

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

void *tutti_reading_take(struct tutti_reading *reading, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct tutti_reading_chunk *chunk = reading->chunks;
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        *chunk = (struct tutti_reading_chunk){.next = reading->chunks, .room = room};
        reading->chunks = chunk;
    }
    void *memory = (char *)chunk->memory + chunk->used;
    chunk->used += bytes;
    return memory;
}

void tutti_describe_end(struct tutti_reading *reading)
{
    for (size_t i = 0; i < reading->held_n; i++)
        tutti_real.MPI_Type_free(&reading->held[i]);
    free(reading->held);
    while (reading->chunks) {
        struct tutti_reading_chunk *next = reading->chunks->next;
        free(reading->chunks);
        reading->chunks = next;
    }
    *reading = (struct tutti_reading){.why = reading->why};
}

/* ---- envelopes ---- */

/* The forms with large counts, where the MPI has them, know all types; the plain ones refuse types made with those. */
static int has_large(void)
{
    return tutti_real.MPI_Type_get_envelope_c && tutti_real.MPI_Type_get_contents_c;
}

int tutti_envelope(MPI_Datatype type, struct tutti_contents *out)
{
    *out = (struct tutti_contents){.combiner = MPI_COMBINER_NAMED};
    const struct tutti_type_row *row = tutti_type_find(type);
    if (row && row->host_ok) /* not one of Tutti's own */
        return TUTTI_OK;
    if (has_large()) {
        MPI_Count integers, addresses, counts, types;
        if (tutti_real.MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &out->combiner) !=
            MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
        out->integers = (size_t)integers;
        out->addresses = (size_t)addresses;
        out->counts = (size_t)counts;
        out->types = (size_t)types;
    } else {
        int integers, addresses, types;
        if (tutti_real.MPI_Type_get_envelope(type, &integers, &addresses, &types, &out->combiner) != MPI_SUCCESS)
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
static int hold(struct tutti_reading *reading, const struct tutti_contents *what)
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
    size_t numbers = what->large ? what->counts : what->integers + what->addresses;
    int *integer = tutti_reading_take(reading, what->integers + 1, sizeof *integer), code;
    MPI_Aint *address = tutti_reading_take(reading, what->addresses + 1, sizeof *address);
    MPI_Count *number = tutti_reading_take(reading, numbers + 1, sizeof *number);
    what->type = tutti_reading_take(reading, what->types + 1, sizeof *what->type);
    if (!integer || !address || !number || !what->type)
        return TUTTI_ERR_MEMORY;
    if (has_large())
        code = tutti_real.MPI_Type_get_contents_c(type, (MPI_Count)what->integers, (MPI_Count)what->addresses,
                                                  (MPI_Count)what->counts, (MPI_Count)what->types, integer, address,
                                                  number, what->type);
    else
        code = tutti_real.MPI_Type_get_contents(type, (int)what->integers, (int)what->addresses, (int)what->types,
                                                integer, address, what->type);
    if (code != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    for (size_t i = 0; i < what->integers && !what->large; i++)
        number[i] = integer[i];
    for (size_t i = 0; i < what->addresses && !what->large; i++)
        number[what->integers + i] = address[i];
    what->integer = integer;
    what->number = number;
    return hold(reading, what);
}
