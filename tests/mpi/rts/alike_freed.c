/* Random messages like those before them, from and into allocations that the program frees and makes again, mostly at
 * the same address, as soon as their messages are complete, while messages of others are open. Rank 0 sends to rank 1;
 * both draw the same. Arguments: steps, and the number of threads. In the first half of the steps
 * completion calls alone complete messages. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "kit.h"

enum { ALLOCATIONS = 5, PLACES = 12, MOST = 4096, OPEN = 24, TAGS = 100, MOST_THREADS = 4, LENGTHS = 6 };
enum end { WAIT, TEST, WAITANY, WAITALL_OF_ONE, GET_STATUS, SEEN, ENDS };
enum { SEEN_MOST = 8, TYPES = 3 };
static const int lengths[LENGTHS] = {5, 8, 96, 480, 1000, MOST};

struct message {
    int allocation, place, bytes, seed;
    MPI_Request request;
};
/* As many elements of each. */
static MPI_Datatype type_of(int type)
{
    return type == 0 ? MPI_BYTE : type == 1 ? MPI_SHORT : MPI_DOUBLE;
}
static const int type_bytes[TYPES] = {1, sizeof(short), sizeof(double)};

struct worker {
    pthread_t id;
    int tag, steps, open, seen, same_address;
    uint64_t state;
    long wrong, messages, sends;
    char *base[ALLOCATIONS];
    struct message message[OPEN];
    MPI_Request seen_complete[SEEN_MOST]; /* that are still there */
    char data[MOST], got[MOST];
};

static int draw(struct worker *w, int n)
{
    return (int)(random_next(&w->state) % (uint64_t)n);
}

static void fill(struct worker *w, int seed, int bytes)
{
    for (int b = 0; b < bytes; b++)
        w->data[b] = (char)random_mix(kit_seed + (uint64_t)w->tag * 7919 + (uint64_t)seed * 1000003 + (uint64_t)b);
}

/* Each of two allocations on a GPU of its own, where there are two. */
static void allocate(struct worker *w, int a)
{
    void *memory = NULL;
    if (tutti_gpu_count() > 1)
        tutti_gpu_set(a % 2);
    if (tutti_alloc(PLACES * MOST, &memory) != 0) {
        fprintf(stderr, "rank %d: no memory\n", kit_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    w->base[a] = memory;
}

static int is_used(const struct worker *w, int allocation, int place)
{
    int used = 0;
    for (int i = 0; i < w->open; i++)
        used += w->message[i].allocation == allocation && (place < 0 || w->message[i].place == place);
    return used;
}

static void start(struct worker *w, int allocation, int count, int type)
{
    struct message *const m = &w->message[w->open];
    int place = draw(w, PLACES);
    const int bytes = count * type_bytes[type];
    if (bytes > MOST)
        return;
    for (int i = 0; i < PLACES && is_used(w, allocation, place); i++)
        place = (place + 1) % PLACES;
    if (w->open == OPEN || is_used(w, allocation, place))
        return;
    *m = (struct message){.allocation = allocation, .place = place, .bytes = bytes, .seed = (int)w->messages++};
    char *const at = w->base[allocation] + (size_t)place * MOST;
    if (kit_rank == 0) {
        fill(w, m->seed, bytes);
        tutti_copy(at, w->data, (size_t)bytes);
        MPI_Isend(at, count, type_of(type), 1, w->tag, MPI_COMM_WORLD, &m->request);
        w->sends++;
    } else {
        MPI_Irecv(at, count, type_of(type), 0, w->tag, MPI_COMM_WORLD, &m->request);
    }
    w->open++;
}

static void end_request(MPI_Request *request, enum end by)
{
    MPI_Status status;
    int flag = 0, which;
    if (by == WAITANY)
        MPI_Waitany(1, request, &which, &status);
    else if (by == WAITALL_OF_ONE)
        MPI_Waitall(1, request, &status);
    while (by == TEST && !flag)
        MPI_Test(request, &flag, &status);
    while (by >= GET_STATUS && !flag)
        MPI_Request_get_status(*request, &flag, &status);
    if (by == WAIT || by == GET_STATUS)
        MPI_Wait(request, &status);
}

static void end_message(struct worker *w, int i, enum end by)
{
    struct message *const m = &w->message[i];
    end_request(&m->request, by);
    if (by == SEEN)
        w->seen_complete[w->seen++] = m->request;
    for (int k = 0; k < w->seen && w->seen == SEEN_MOST; k++)
        MPI_Wait(&w->seen_complete[k], MPI_STATUS_IGNORE);
    w->seen %= SEEN_MOST;
    if (kit_rank == 1) {
        fill(w, m->seed, m->bytes);
        tutti_copy(w->got, w->base[m->allocation] + (size_t)m->place * MOST, (size_t)m->bytes);
        w->wrong += memcmp(w->got, w->data, (size_t)m->bytes) != 0;
    }
    *m = w->message[--w->open];
}

/* Frees the allocation when its messages are complete, and makes another one, perhaps elsewhere. */
static void renew(struct worker *w, int allocation, int rank, int elsewhere)
{
    for (int i = 0; i < w->open;) {
        if (w->message[i].allocation == allocation)
            end_message(w, i, WAIT);
        else
            i++;
    }
    if (kit_rank != rank && rank < 2)
        return;
    void *between = NULL;
    const char *const before = w->base[allocation];
    tutti_free(w->base[allocation]);
    if (elsewhere)
        tutti_alloc(PLACES * MOST, &between);
    allocate(w, allocation);
    w->same_address += w->base[allocation] == before;
    tutti_free(between);
}

/* Of host memory, in between: as long as those of device memory. */
static void from_host(struct worker *w, int bytes)
{
    const int seed = (int)w->messages++;
    fill(w, seed, bytes);
    if (kit_rank == 0) {
        MPI_Request request;
        MPI_Isend(w->data, bytes, MPI_BYTE, 1, w->tag + 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(w->got, bytes, MPI_BYTE, 0, w->tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        w->wrong += memcmp(w->got, w->data, (size_t)bytes) != 0;
    }
}

static void *work(void *at)
{
    struct worker *const w = at;
    int allocation = 0, count = lengths[1], type = 0;
    for (int a = 0; a < ALLOCATIONS; a++)
        allocate(w, a);
    for (int step = 0; step < w->steps; step++) {
        allocation = draw(w, 4) == 0 ? draw(w, ALLOCATIONS) : allocation;
        count = draw(w, 100) == 0 ? lengths[draw(w, LENGTHS)] : count;
        type = draw(w, 100) == 0 ? draw(w, TYPES) : type;
        const int dice = draw(w, 100), other = draw(w, OPEN), rank = draw(w, 3);
        const int how = draw(w, step < w->steps / 2 ? GET_STATUS : ENDS);
        if (dice < 55)
            start(w, allocation, count, type);
        else if (dice < 80 && w->open)
            end_message(w, other % w->open, (enum end)how);
        else if (dice < 90)
            renew(w, allocation, rank, how == 0);
        else if (dice < 95)
            from_host(w, count);
        while (dice >= 97 && w->open)
            end_message(w, w->open - 1, WAIT);
    }
    while (w->open)
        end_message(w, 0, WAIT);
    for (int k = 0; k < w->seen; k++)
        MPI_Wait(&w->seen_complete[k], MPI_STATUS_IGNORE);
    for (int a = 0; a < ALLOCATIONS; a++)
        tutti_free(w->base[a]);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker worker[MOST_THREADS];
    const int steps = argc > 1 ? atoi(argv[1]) : 3000, threads = argc > 2 ? atoi(argv[2]) : 1;
    const int level = kit_start(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2 || (threads > 1 && level < MPI_THREAD_MULTIPLE))
        kit_skip("alike_freed", "two ranks with the library, and the threads, are needed");
    for (int t = 0; t < threads && t < MOST_THREADS; t++) {
        worker[t] =
            (struct worker){.tag = t * TAGS, .steps = steps, .state = random_mix(kit_seed + (uint64_t)t) + (uint64_t)t};
        if (threads == 1)
            work(&worker[t]);
        else
            pthread_create(&worker[t].id, NULL, work, &worker[t]);
    }
    for (int t = 0; t < threads && t < MOST_THREADS; t++) {
        if (threads > 1)
            pthread_join(worker[t].id, NULL);
        CHECK(worker[t].wrong == 0, "thread %d: %ld messages of %ld are wrong", t, worker[t].wrong, worker[t].messages);
        CHECK(threads > 1 || worker[t].same_address > 0 || kit_rank == 1, "no allocation has the address of another");
    }
    long sends = 0;
    for (int t = 0; t < threads && t < MOST_THREADS; t++)
        sends += worker[t].sends;
    const char *const how =
        getenv("TUTTI_MAPPING_PRICE_US") ? "memory that its receiver maps" : "fetched by the receiver";
    const int aware = getenv("TUTTI_MPI_GPU_AWARE") != NULL;
    CHECK(kit_rank == 1 || aware || kit_counted("MPI_Isend", how) > 0, "no message was %s", how);
    const long counted = (long)(kit_counted("MPI_Isend", "accelerated") + kit_counted("MPI_Isend", "staged"));
    CHECK(kit_rank == 1 || counted == (aware ? 0 : sends), "%ld sends were counted, of %ld of device memory", counted,
          sends);
    return kit_end("alike_freed");
}
