/* Messages in which only one rank takes part: sends that no rank receives, and receives to which no rank sends. The
 * program frees every second request, and keeps the others. MPI_Finalize ends nevertheless, as the MPIs' own does.
 * A message whose requests both ranks free arrives before MPI_Finalize returns, also if its sender begins it late, in a
 * callback of MPI_Finalize.
 * unmatched sends|receives|persistent|all: which of them */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { LONG = 100000, SHORT = 100, SENT = 7, AWAITED = 8, BOTH = 9, MANY = 4, SECONDS = 60 };
enum { LATE_US = 2500000 };
enum { SENDS = 1, RECEIVES = 2, PERSISTENT = 4 };
static const int lengths[MANY] = {SHORT, SHORT, LONG, LONG};
static struct kit_buffer out[MANY], in[MANY], matched;
static int text[LONG], arrived[LONG];

static int value(int rank, int i)
{
    return 3 * i + rank + 1;
}

static MPI_Request send_begin(const void *from, int n, int persistent)
{
    const int peer = 1 - kit_rank;
    MPI_Request request;
    if (!persistent) {
        MPI_Isend(from, lengths[n], MPI_INT, peer, SENT, MPI_COMM_WORLD, &request);
        return request;
    }
    MPI_Send_init(from, lengths[n], MPI_INT, peer, SENT, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    return request;
}

static MPI_Request receive_begin(void *into, int n, int persistent)
{
    MPI_Request request;
    if (!persistent) {
        MPI_Irecv(into, lengths[n], MPI_INT, MPI_ANY_SOURCE, AWAITED, MPI_COMM_WORLD, &request);
        return request;
    }
    MPI_Recv_init(into, lengths[n], MPI_INT, MPI_ANY_SOURCE, AWAITED, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    return request;
}

static void begin(int n, int what)
{
    const size_t bytes = (size_t)lengths[n] * sizeof(int);
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    void *const from = kit_put(&out[n], 0, text, bytes), *const into = kit_put(&in[n], 0, NULL, bytes);
    if (what & SENDS)
        request[0] = send_begin(from, n, what & PERSISTENT);
    if (what & RECEIVES)
        request[1] = receive_begin(into, n, what & PERSISTENT);
    for (int i = 0; i < 2 && n % 2; i++) {
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&request[i]);
    }
}

/* MPICH 5 alone loses messages of callbacks in MPI_Finalize. */
#if defined MPI_ABI_VERSION || (defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 50000000)
enum { LATE = 0 };
#else
enum { LATE = 1 };
#endif

/* From device into host memory, which the program reads after MPI_Finalize. Rank 1 is late. */
static int send_freed(MPI_Comm comm, int key, void *value_of, void *extra)
{
    MPI_Request request;
    (void)comm, (void)key, (void)value_of, (void)extra;
    if (kit_rank == 1)
        usleep(LATE_US);
    MPI_Isend(kit_put(&matched, 0, text, sizeof text), LONG, MPI_INT, 1 - kit_rank, BOTH, MPI_COMM_WORLD, &request);
    return MPI_Request_free(&request);
}

static void begin_both(void)
{
    MPI_Request request;
    int key;
    MPI_Irecv(arrived, LONG, MPI_INT, 1 - kit_rank, BOTH, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_freed, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

static int what_of(const char *name)
{
    static const struct {
        const char *name;
        int what;
    } all[] = {{"sends", SENDS},
               {"receives", RECEIVES},
               {"persistent", SENDS | RECEIVES | PERSISTENT},
               {"all", SENDS | RECEIVES}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(name, all[i].name) == 0)
            return all[i].what;
    }
    return 0;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int what = argc > 1 ? what_of(argv[1]) : SENDS | RECEIVES;
    alarm(SECONDS);
    for (int i = 0; i < LONG; i++)
        text[i] = value(kit_rank, i);
    kit_open(&matched, KIT_DEVICE, sizeof text);
    if (LATE)
        begin_both();
    for (int n = 0; n < MANY; n++) {
        kit_open(&out[n], KIT_DEVICE, sizeof text);
        kit_open(&in[n], n / 2 ? KIT_DEVICE : KIT_HOST, sizeof text);
        begin(n, what);
    }
    CHECK(what != 0 && kit_size == 2, "unmatched sends|receives|persistent|all, two ranks");
    const int status = kit_end("unmatched"), peer = 1 - kit_rank;
    int wrong = 0;
    for (int i = 0; i < LONG && LATE; i++)
        wrong += arrived[i] != value(peer, i);
    CHECK(wrong == 0, "%d elements of %d wrong of a message whose requests were freed", wrong, LONG);
    return status || check_failed() > 0;
}
