/* Data of the transfers: every byte follows from a seed, the rank that sends it and its place, so that each rank can
 * work out what it should have received. */
#include <stdio.h>
#include <string.h>

#include "bench/common/bench.h"
#include "bench/pack/pack.h"
#include "bench/transfer/transfer.h"
#include "tutti/tutti.h"

void transfer_data(uint64_t seed, int rank, size_t first, size_t n, char *out)
{
    const uint64_t base = pack_mix(seed) + ((uint64_t)rank << 40);
    for (size_t at = first, end = first + n; at < end;) {
        const uint64_t word = pack_mix(base + at / 8);
        const size_t in = at % 8, some = 8 - in < end - at ? 8 - in : end - at;
        memcpy(out + (at - first), (const char *)&word + in, some);
        at += some;
    }
}

struct transfer_buffers transfer_buffers_of(const struct transfer_memory *m, int way)
{
    char *const *const mixed = m->mixed;
    switch (way) {
    case TRANSFER_WAY_HAND:
        return (struct transfer_buffers){mixed[0] ? mixed[0] : m->host[0], mixed[1] ? mixed[1] : m->host[1],
                                         mixed[0] ? NULL : m->device[0], mixed[1] ? NULL : m->device[1]};
    case TRANSFER_WAY_PLAIN:
        return (struct transfer_buffers){m->ordinary[0], m->ordinary[1], NULL, NULL};
    case TRANSFER_WAY_NCCL_SYM:
    case TRANSFER_WAY_NCCL_CE:
        return (struct transfer_buffers){m->symmetric[0], m->symmetric[1], NULL, NULL};
    default:
        return (struct transfer_buffers){mixed[0] ? mixed[0] : m->device[0], mixed[1] ? mixed[1] : m->device[1], NULL,
                                         NULL};
    }
}

/* The memory that is read and written in the end: of HAND the program's. */
static char *transfer_side(const struct transfer_memory *m, int way, int side)
{
    const struct transfer_buffers b = transfer_buffers_of(m, way);
    return side ? (b.device_out ? b.device_out : b.out) : (b.device_in ? b.device_in : b.in);
}

/* Parts of `bytes` that are looked at: all of it in pieces, or places spread over it. */
enum { TRANSFER_PLACES = 64, TRANSFER_PLACE = 64 << 10 };
static size_t transfer_pieces(size_t bytes)
{
    return bytes <= TRANSFER_CHECK_FULL ? bytes > 0 : TRANSFER_PLACES;
}
static size_t transfer_piece(size_t bytes, size_t i, size_t *n)
{
    *n = bytes <= TRANSFER_CHECK_FULL ? bytes : TRANSFER_PLACE;
    return bytes <= TRANSFER_CHECK_FULL ? 0
           : i == TRANSFER_PLACES - 1   ? bytes - TRANSFER_PLACE
                                        : (bytes - TRANSFER_PLACE) / (TRANSFER_PLACES - 1) * i;
}

void transfer_fill(const struct transfer *t, struct transfer_memory *m, int way, uint64_t seed, int spoil)
{
    const size_t in = (size_t)t->row->in(t)*t->bytes, out = (size_t)t->row->out(t) * t->bytes;
    char *memory = transfer_side(m, way, 0);
    /* Ways that share memory hold the same. */
    int owner = 0;
    while (transfer_side(m, owner, 0) != memory)
        owner++;
    if (m->held[owner] != seed || m->held_bytes[owner] != in) {
        for (size_t at = 0; at < in; at += TRANSFER_CHECK_FULL) {
            const size_t n = in - at < TRANSFER_CHECK_FULL ? in - at : TRANSFER_CHECK_FULL;
            transfer_data(seed, t->rank, at, n, m->scratch);
            bench_must(tutti_copy(memory + at, m->scratch, n), "copying to the device");
        }
        m->held[owner] = seed;
        m->held_bytes[owner] = in;
    }
    if (!spoil)
        return;
    memset(m->scratch, 0x5a, TRANSFER_CHECK_FULL);
    for (size_t i = 0; i < transfer_pieces(out); i++) {
        size_t n, at = transfer_piece(out, i, &n);
        bench_must(tutti_copy(transfer_side(m, way, 1) + at, m->scratch, n), "copying to the device");
    }
    if (way == TRANSFER_WAY_HAND)
        memset(m->host[1], 0x5b, m->pinned[1] < out ? m->pinned[1] : out);
}

/* Bytes `at` .. `at` + n of what this rank has received; 1 if they are right. */
static int transfer_compare(const struct transfer *t, const char *got, uint64_t seed, size_t at, size_t n, char *text,
                            size_t size)
{
    static char right[TRANSFER_PLACE];
    for (size_t done = 0; done < n;) {
        const size_t place = at + done, within = place % t->bytes;
        size_t some = t->bytes - within < n - done ? t->bytes - within : n - done;
        some = some < sizeof right ? some : sizeof right;
        const struct transfer_source from = t->row->from(t, (int)(place / t->bytes));
        transfer_data(seed, from.rank, (size_t)from.block * t->bytes + within, some, right);
        if (memcmp(right, got + done, some) != 0) {
            size_t i = 0;
            while (right[i] == got[done + i])
                i++;
            snprintf(text, size, "byte %zu of block %zu is 0x%02x, right is 0x%02x", within + i, place / t->bytes,
                     (unsigned char)got[done + i], (unsigned char)right[i]);
            return 0;
        }
        done += some;
    }
    return 1;
}

int transfer_check(const struct transfer *t, const struct transfer_memory *m, int way, uint64_t seed)
{
    const size_t out = (size_t)t->row->out(t) * t->bytes;
    const char *memory = transfer_side(m, way, 1);
    char text[200] = "";
    int first, mine = t->n;
    for (size_t i = 0; i < transfer_pieces(out) && mine == t->n; i++) {
        size_t n, at = transfer_piece(out, i, &n);
        bench_must(tutti_copy(m->scratch, memory + at, n), "copying from the device");
        if (!transfer_compare(t, m->scratch, seed, at, n, text, sizeof text))
            mine = t->rank;
    }
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == t->n)
        return 1;
    bench_mpi.Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(t->plan, "wrong %s of %zu bytes by %s, rank %d: %s", t->row->name, t->bytes, transfer_way_name(way),
              first, text);
    return 0;
}
