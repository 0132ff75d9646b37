/* MPI_Buffer_attach of device memory: buffered sends of host and of device memory arrive, and MPI_Buffer_detach gives
 * the program's own address and size back. */
#include <string.h>

#include "kit.h"

enum { COUNT = 5000, MESSAGES = 3, TAG = 9 };

static void round_of(enum kit_kind buffer_kind, enum kit_kind kind)
{
    static int sent[COUNT], got[COUNT];
    struct kit_buffer buffer, out, in;
    int size = MESSAGES * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD), back_size = -1, guards;
    int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    void *back = NULL;
    kit_open(&buffer, buffer_kind, (size_t)size);
    kit_open(&out, kind, sizeof sent);
    kit_open(&in, kind, sizeof got);
    void *given = kit_put(&buffer, 0, NULL, (size_t)size);
    int code = MPI_Buffer_attach(given, size);
    CHECK(code == MPI_SUCCESS, "MPI_Buffer_attach: error class %d", kit_class(code));
    for (int m = 0; m < MESSAGES; m++) {
        for (int i = 0; i < COUNT; i++)
            sent[i] = kit_rank * 100000 + m * 10000 + i;
        code = MPI_Bsend(kit_put(&out, 0, sent, sizeof sent), COUNT, MPI_INT, to, TAG, MPI_COMM_WORLD);
        CHECK(code == MPI_SUCCESS, "MPI_Bsend: error class %d", kit_class(code));
    }
    for (int m = 0; m < MESSAGES; m++) {
        MPI_Recv(kit_put(&in, 0, NULL, sizeof got), COUNT, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(got, kit_get(&in, NULL), sizeof got);
        int i = 0;
        while (i < COUNT && got[i] == from * 100000 + m * 10000 + i)
            i++;
        CHECK(i == COUNT, "message %d: integer %d is %d", m, i, i < COUNT ? got[i] : 0);
    }
    code = MPI_Buffer_detach(&back, &back_size);
    CHECK(code == MPI_SUCCESS && back == given && back_size == size,
          "MPI_Buffer_detach: error class %d, %p of %d bytes, not %p of %d", kit_class(code), back, back_size, given,
          size);
    kit_get(&buffer, &guards);
    CHECK(guards, "beside the attached buffer something was written");
    kit_close(&buffer);
    kit_close(&out);
    kit_close(&in);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int round = 0; round < 3; round++) {
        round_of(KIT_DEVICE, KIT_HOST);
        round_of(KIT_DEVICE, KIT_DEVICE);
        round_of(KIT_HOST, KIT_DEVICE);
    }
    return kit_end("attached");
}
