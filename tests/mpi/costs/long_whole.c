/* Long messages from host memory into device memory: once some have arrived, receives of such messages take memory that
 * stays, and touch no new pages for each of them. Messages from device memory in between change nothing. Two ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kit.h"
#include "real_mpi.h"

enum { BYTES = 6 << 20, FIRST = 6, MESSAGES = 24, PAGES_MOST = 256 /* of BYTES / 4096 */, TAG = 5 };
enum form { RECV, IRECV, SENDRECV, FORMS };
static const char *const forms[FORMS] = {"MPI_Recv", "MPI_Irecv", "MPI_Sendrecv"};

static unsigned char data[BYTES];

static void fill(int message)
{
    for (size_t i = 0; i < BYTES / 4; i++) {
        const uint32_t word = (uint32_t)i * 2654435761u + (uint32_t)message;
        memcpy(data + 4 * i, &word, sizeof word);
    }
}

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

static void receive(enum form form, void *into)
{
    MPI_Request request;
    int none = 0;
    if (form == RECV) {
        MPI_Recv(into, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (form == IRECV) {
        MPI_Irecv(into, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Sendrecv(&none, 1, MPI_INT, MPI_PROC_NULL, 0, into, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void device_message(struct kit_buffer *b)
{
    static const int small = 7;
    void *at = kit_put(b, 0, &small, sizeof small);
    if (kit_rank == 0)
        MPI_Send(at, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
    else
        MPI_Recv(at, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    struct kit_buffer mine, small;
    if (kit_start(&argc, &argv, MPI_THREAD_SINGLE))
        return 1;
    kit_open(&mine, KIT_DEVICE, BYTES);
    kit_open(&small, KIT_DEVICE, sizeof(int));
    for (int form = 0; form < FORMS; form++) {
        long touched = 0;
        for (int m = 0; m < MESSAGES; m++) {
            device_message(&small);
            fill(form * MESSAGES + m);
            if (kit_rank == 0) {
                MPI_Send(data, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
                continue;
            }
            unsigned char *const expected = malloc(BYTES);
            memcpy(expected, data, BYTES);
            memset(data, 0, BYTES);
            void *const into = kit_put(&mine, 0, data, BYTES);
            const long before = faults();
            receive((enum form)form, into);
            touched += m >= FIRST ? faults() - before : 0;
            int guards = 0;
            CHECK(memcmp(kit_get(&mine, &guards), expected, BYTES) == 0, "%s: message %d has other bytes", forms[form],
                  m);
            CHECK(guards, "%s: bytes around message %d were written", forms[form], m);
            free(expected);
        }
        CHECK(touched / (MESSAGES - FIRST) < PAGES_MOST, "%s: %ld new pages a message", forms[form],
              touched / (MESSAGES - FIRST));
    }
    kit_close(&small);
    kit_close(&mine);
    return kit_end("long_whole");
}
