/* What the first messages of an allocation ask the GPU's driver, over a pretended driver that counts its calls: once
 * what the memory is, one copy, and what a copy needs. Later ones of the same allocation ask no more. Two ranks;
 * messages are carried by the MPI, since no mapping pays yet. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "fake_libcuda.h"
#include "support/check.h"
#include "tutti/tutti.h"

/* CALLS: cuPointerGetAttributes; cuCtxGetId (was a context reset?); cuCtxGetCurrent; cuCtxPushCurrent and
 * cuCtxPopCurrent, since the test has no current context; cuStreamIsCapturing; cuMemcpy. After some receives
 * cuMemcpyAsync and cuStreamSynchronize (which the pretended driver counts twice) of a stream of the library, made
 * once, stand in place of the last two. The first stages use memory that is not pinned; later ones may look once more
 * whether a context was reset, with which pinned memory goes, and the first two of a length make it.
 * After some more of these the end is seen by a word, in place of the second, for which memory is made once.
 * EARLY_CALLS: a copy that begins before the way of its message is known, of up to EARLY_MOST bytes: it is begun and
 * ended by calls of their own, each with the context. */
enum {
    ALLOCATIONS = 12,
    MESSAGES = 4,
    CALLS = 7,
    EARLY_CALLS = 5,
    EARLY_MOST = 64 << 10,
    TURNS_CALLS = 2,
    WORD_CALLS = 2,
    NOT_PINNED = 32,
    TAG = 3
};

/* Each rank has a GPU of its own: where processes share one, no word is looked for. No GPU is current besides. */
static int calls_alloc(const struct fake_control *fake, int rank, size_t bytes, void **memory)
{
    fake->current(rank);
    const int status = tutti_alloc(bytes, memory);
    fake->current(-1);
    return status;
}

/* What the memory is, is asked by the call that makes the request, and once by each start: by the sender then, by the
 * receiver when the message has arrived. */
static void persistent(const struct fake_control *fake, int rank)
{
    enum { BYTES = 4096, STARTS = 3 };
    static char want[BYTES], got[BYTES];
    void *memory = NULL;
    MPI_Request request;
    CHECK(calls_alloc(fake, rank, BYTES, &memory) == 0, "no memory");
    const unsigned long before = fake->queries;
    if (rank == 0)
        MPI_Send_init(memory, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(memory, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    CHECK(fake->queries - before == 1, "%lu questions for a persistent request", fake->queries - before);
    for (int i = 0; i < STARTS; i++) {
        memset(want, 'k' + i, BYTES);
        CHECK(rank == 1 || tutti_copy(memory, want, BYTES) == 0, "no copy");
        const unsigned long questions = fake->queries;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(fake->queries - questions == 1, "%lu questions for a start", fake->queries - questions);
        CHECK(tutti_copy(got, memory, BYTES) == 0 && memcmp(got, want, BYTES) == 0, "other data");
    }
    MPI_Request_free(&request);
    CHECK(tutti_free(memory) == 0, "not freed");
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 4096, 60000};
    static char data[60000], got[60000];
    int rank, own = 0, early = 0, turns = 0, seen = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rank(rank);
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    struct fake_control *const fake = library ? fake_of(library) : NULL;
    for (int a = 0; fake && a < ALLOCATIONS; a++) {
        const int bytes = sizes[a % 3];
        void *memory = NULL;
        CHECK(calls_alloc(fake, rank, (size_t)bytes, &memory) == 0, "no memory");
        memset(data, 'a' + a, sizeof data);
        CHECK(tutti_copy(memory, data, (size_t)bytes) == 0, "no copy");
        for (int m = 0; m < MESSAGES; m++) {
            const unsigned long calls = fake->calls, questions = fake->queries, waits = fake->waits,
                                words = fake->words;
            if (rank == 0)
                MPI_Send(memory, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(memory, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (a == 0) /* the process meets its GPU */
                continue;
            const int pinned = a * MESSAGES + m >= NOT_PINNED, makes_pinned = pinned && m < 2;
            const unsigned long more = fake->calls - calls - CALLS, waited = fake->waits - waits;
            const int makes = rank == 1 && waited == 1 && own == 0; /* the stream */
            own += rank * (int)waited;
            early += !rank * (int)waited;
            const unsigned long worded = fake->words - words;
            const unsigned long most = (unsigned long)(pinned + makes) + waited * (rank ? 1 : EARLY_CALLS) +
                                       (worded && !seen ? WORD_CALLS : 0);
            seen += (int)worded;
            /* Once: whether processes take turns on the GPU. */
            const int asks = !turns && more > most && more <= most + TURNS_CALLS;
            turns |= asks;
            CHECK(more <= most || makes_pinned || asks, "message %d of %d bytes: %lu calls too many", m, bytes, more);
            CHECK(fake->queries - questions == 1 && waited <= (unsigned long)(rank || bytes <= EARLY_MOST),
                  "message %d of %d bytes: %lu questions, %lu waits", m, bytes, fake->queries - questions, waited);
        }
        CHECK(tutti_copy(got, memory, (size_t)bytes) == 0 && memcmp(got, data, (size_t)bytes) == 0, "other data");
        CHECK(tutti_free(memory) == 0, "not freed");
    }
    if (fake)
        persistent(fake, rank);
    CHECK(fake, "the pretended driver was not found");
    CHECK((own > MESSAGES) == (rank == 1), "a stream for copies is used %d times", own);
    CHECK((seen > MESSAGES) == (rank == 1), "the ends of %d copies were seen by words", seen);
    CHECK((early > MESSAGES) == (rank == 0), "%d copies began before the way of their message was known", early);
    MPI_Finalize();
    printf("driver_calls: rank %d, %ld checks, %ld failed\n", rank, check_done(), check_failed());
    return check_failed() > 0;
}
