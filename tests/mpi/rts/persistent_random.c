/* Random persistent sends of device memory, started and completed by every call that completes requests, looked at,
 * cancelled, and freed while they are active. The buffer of a send changes as soon as it is complete. Rank 0 sends to
 * rank 1; both draw the same. Arguments: steps, and the number of threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "completion.h"
#include "kit.h"

enum { SLOTS = 12, MOST = 70000, THREADS = 3, TAGS = 100, LENGTHS = 8, WORD = 90, LOOKS = 8 };
enum way { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS, CANCEL, EACH, WAYS };
enum mode { SEND, SSEND, MODES };
static const int lengths[LENGTHS] = {1, 8, 96, 480, 1000, 5000, 40000, MOST};

struct slot {
    char *at;
    int bytes, seed, active, sent; /* active: not received yet; sent: complete at its sender */
    MPI_Request request;
};
struct worker {
    pthread_t id;
    int tag, steps;
    uint64_t state;
    long wrong, handles, messages, calls; /* calls: of EACH */
    struct slot slot[SLOTS];
    void *other; /* device memory */
    char data[MOST], got[MOST];
};

static int draw(struct worker *w, int n)
{
    return (int)(random_next(&w->state) % (uint64_t)n);
}

static void fill(struct worker *w, int seed, int bytes)
{
    random_bytes(w->data, kit_seed + (uint64_t)w->tag * 7919 + (uint64_t)seed * 1000003, (size_t)bytes);
}

static void make(struct worker *w, int s)
{
    struct slot *const slot = &w->slot[s];
    const enum mode mode = (enum mode)draw(w, MODES);
    slot->bytes = lengths[draw(w, LENGTHS)];
    if (kit_rank != 0)
        return;
    if (mode == SSEND)
        MPI_Ssend_init(slot->at, slot->bytes, MPI_BYTE, 1, w->tag + s, MPI_COMM_WORLD, &slot->request);
    else
        MPI_Send_init(slot->at, slot->bytes, MPI_BYTE, 1, w->tag + s, MPI_COMM_WORLD, &slot->request);
}

/* Rank 0: the send is complete, so its buffer may change. */
static void sent(struct worker *w, int s)
{
    struct slot *const slot = &w->slot[s];
    if (slot->sent)
        return;
    slot->sent = 1;
    w->handles += slot->request == MPI_REQUEST_NULL;
    memset(w->data, 0x5a, (size_t)slot->bytes);
    tutti_copy(slot->at, w->data, (size_t)slot->bytes);
}

static void start(struct worker *w, int chance, int all)
{
    MPI_Request requests[SLOTS];
    int which[SLOTS], n = 0;
    for (int s = 0; s < SLOTS; s++) {
        struct slot *const slot = &w->slot[s];
        if (slot->active || draw(w, 100) >= chance)
            continue;
        slot->active = 1;
        slot->sent = 0;
        slot->seed = (int)w->messages++;
        which[n] = s;
        if (kit_rank == 0) {
            fill(w, slot->seed, slot->bytes);
            tutti_copy(slot->at, w->data, (size_t)slot->bytes);
            requests[n] = slot->request;
        }
        n++;
    }
    if (kit_rank == 0 && all)
        MPI_Startall(n, requests);
    for (int i = 0; i < n && kit_rank == 0; i++) {
        if (!all)
            MPI_Start(&requests[i]);
        w->slot[which[i]].request = requests[i];
    }
}

/* Rank 0: completes the send by the next of all calls that complete requests or look at them, made alone until the send
 * is complete. What a call that looks has shown complete is so: the buffer may change at once. */
static void complete_one(struct worker *w, int s)
{
    MPI_Request *const request = &w->slot[s].request;
    enum completion call;
    do
        call = (enum completion)(w->calls++ % COMPLETIONS);
    while (!completion_is_there(&completion_library, call));
    while (!completion_make(&completion_library, call, request).flag)
        continue;
    sent(w, s);
    if (completion_looks(call))
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Rank 0: one call of this kind for n requests, of which some may complete. Returns how many have. */
static int call_once(enum way way, int n, MPI_Request requests[], int done[])
{
    MPI_Status statuses[SLOTS];
    int flag = 0, out = 0, index = MPI_UNDEFINED, which[SLOTS], all = 0;
    if (way == CANCEL)
        MPI_Cancel(&requests[0]);
    if (way == GET_STATUS)
        MPI_Request_get_status(requests[n - 1], &flag, &statuses[0]);
    if (way == WAIT || way == CANCEL || way == GET_STATUS) {
        index = flag ? n - 1 : 0;
        MPI_Wait(&requests[index], &statuses[0]);
    } else if (way == WAITALL || way == TESTALL) {
        all = way == WAITALL;
        if (all)
            MPI_Waitall(n, requests, statuses);
        else
            MPI_Testall(n, requests, &all, statuses);
    } else if (way == WAITANY) {
        MPI_Waitany(n, requests, &index, &statuses[0]);
    } else if (way == TEST) {
        MPI_Test(&requests[n / 2], &flag, &statuses[0]);
        index = flag ? n / 2 : MPI_UNDEFINED;
    } else if (way == TESTANY) {
        MPI_Testany(n, requests, &index, &flag, &statuses[0]);
        index = flag ? index : MPI_UNDEFINED;
    } else if (way == WAITSOME) {
        MPI_Waitsome(n, requests, &out, which, statuses);
    } else {
        MPI_Testsome(n, requests, &out, which, statuses);
    }
    for (int i = 0; i < n; i++)
        done[i] = all || i == index;
    for (int i = 0; i < out && out != MPI_UNDEFINED; i++)
        done[which[i]] = 1;
    for (int i = out = 0; i < n; i++)
        out += done[i];
    return out;
}

/* Rank 0: calls for those of `set` that are active, until all are complete; `once`: one call, which does not wait. */
static void complete(struct worker *w, unsigned set, enum way way, int once)
{
    for (;;) {
        MPI_Request requests[SLOTS];
        int which[SLOTS], done[SLOTS], n = 0;
        for (int s = 0; s < SLOTS; s++) {
            if (w->slot[s].active && !w->slot[s].sent && set >> s & 1) {
                which[n] = s;
                requests[n++] = w->slot[s].request;
            }
        }
        if (n == 0)
            return;
        if (way == EACH) {
            complete_one(w, which[0]);
            continue;
        }
        call_once(way, n, requests, done);
        for (int i = 0; i < n; i++) {
            w->slot[which[i]].request = requests[i];
            if (done[i])
                sent(w, which[i]);
        }
        if (once)
            return;
    }
}

/* Rank 1: receives those of the set. */
static void receive(struct worker *w, unsigned set)
{
    for (int s = SLOTS - 1; s >= 0; s--) {
        struct slot *const slot = &w->slot[s];
        if (!slot->active || !(set >> s & 1))
            continue;
        MPI_Recv(slot->at, slot->bytes, MPI_BYTE, 0, w->tag + s, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fill(w, slot->seed, slot->bytes);
        tutti_copy(w->got, slot->at, (size_t)slot->bytes);
        w->wrong += memcmp(w->got, w->data, (size_t)slot->bytes) != 0;
    }
}

/* An active request is freed; the send goes on, and the receiver's word says that it has ended. Another send of as many
 * bytes, which is received first, takes no memory of the freed one. */
static void free_active(struct worker *w, int s)
{
    struct slot *const slot = &w->slot[s];
    MPI_Request other;
    char word = 0;
    if (!slot->active)
        return;
    if (kit_rank == 0) {
        MPI_Request_free(&slot->request);
        MPI_Isend(w->other, slot->bytes, MPI_BYTE, 1, w->tag + WORD, MPI_COMM_WORLD, &other);
        MPI_Recv(&word, 1, MPI_CHAR, 1, w->tag + WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&other, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(w->other, slot->bytes, MPI_BYTE, 0, w->tag + WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(w, 1U << s);
        MPI_Send(&word, 1, MPI_CHAR, 0, w->tag + WORD, MPI_COMM_WORLD);
    }
    slot->active = 0;
    make(w, s);
}

/* A synchronous send is not complete before its receive begins: the call does not say so, or wait. Then its request is
 * completed, or freed while it is active. */
static void before_receive(void *at, enum completion call, int frees)
{
    MPI_Request request;
    char word = 0;
    if (kit_rank == 0) {
        MPI_Ssend_init(at, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        for (int i = 0; i < LOOKS && !completion_waits(call) && completion_is_there(&completion_library, call); i++)
            CHECK(!completion_make(&completion_library, call, &request).flag,
                  "%s: a synchronous send is complete before its receive", completion_names[call]);
        if (frees)
            MPI_Request_free(&request);
        MPI_Send(&word, 1, MPI_CHAR, 1, WORD, MPI_COMM_WORLD);
        if (!frees) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        }
    } else {
        MPI_Recv(&word, 1, MPI_CHAR, 0, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(at, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Wrong arguments are errors at once. */
static void first_ones(void)
{
    MPI_Request request;
    void *at = NULL;
    tutti_alloc(MOST, &at);
    if (kit_rank == 0 && kit_errors_returned()) {
        CHECK(MPI_Send_init(at, 8, MPI_BYTE, 1, -77, MPI_COMM_WORLD, &request) != MPI_SUCCESS,
              "a tag below 0 is taken");
        CHECK(MPI_Send_init(at, 8, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS,
              "a rank too many is taken");
    }
    for (int call = 0; call < COMPLETIONS; call++) {
        before_receive(at, (enum completion)call, 0);
        before_receive(at, (enum completion)call, 1);
    }
    tutti_free(at);
}

static void *work(void *with)
{
    struct worker *const w = with;
    if (tutti_alloc(MOST, &w->other) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int s = 0; s < SLOTS; s++) {
        void *memory = NULL;
        if (tutti_alloc(MOST, &memory) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        w->slot[s].at = memory;
        make(w, s);
    }
    for (int step = 0; step < w->steps; step++) {
        start(w, draw(w, 100), draw(w, 2));
        const unsigned set = (unsigned)draw(w, 1 << SLOTS);
        const enum way way = (enum way)(draw(w, 2) ? EACH : draw(w, WAYS)), look = (enum way)(TEST + draw(w, 4));
        const int looks = draw(w, 3) == 0, frees = draw(w, 8) == 0, slot = draw(w, SLOTS);
        if (kit_rank == 0 && looks)
            complete(w, ~0U, look, 1);
        if (kit_rank == 0)
            complete(w, set, way, 0);
        else
            receive(w, set);
        for (int s = 0; s < SLOTS; s++)
            w->slot[s].active &= !(set >> s & 1);
        if (frees)
            free_active(w, slot);
    }
    if (kit_rank == 0)
        complete(w, ~0U, WAITALL, 0);
    else
        receive(w, ~0U);
    for (int s = 0; s < SLOTS; s++) {
        if (kit_rank == 0)
            MPI_Request_free(&w->slot[s].request);
        tutti_free(w->slot[s].at);
    }
    tutti_free(w->other);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker worker[THREADS];
    const int steps = argc > 1 ? atoi(argv[1]) : 100, threads = argc > 2 ? THREADS : 1;
    const int level = kit_start(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2 || (threads > 1 && level < MPI_THREAD_MULTIPLE))
        kit_skip("persistent_random", "two ranks with the library, and the threads, are needed");
    first_ones();
    for (int t = 0; t < threads; t++) {
        worker[t].tag = t * TAGS;
        worker[t].steps = steps;
        worker[t].state = random_mix(kit_seed + (uint64_t)t) + (uint64_t)t;
        if (threads == 1)
            work(&worker[t]);
        else
            pthread_create(&worker[t].id, NULL, work, &worker[t]);
    }
    for (int t = 0; t < threads; t++) {
        if (threads > 1)
            pthread_join(worker[t].id, NULL);
        CHECK(worker[t].wrong == 0, "thread %d: %ld messages of %ld are wrong", t, worker[t].wrong, worker[t].messages);
        CHECK(worker[t].handles == 0, "thread %d: %ld completed requests have no handle", t, worker[t].handles);
    }
    return kit_end("persistent_random");
}
