/* The attributes of MPI_COMM_SELF are deleted first in MPI_Finalize, and their callbacks may use the MPI: device memory
 * is reduced, sent, made and freed there as before. Two attributes, of which the second one is deleted first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { COUNT = 2000, SECONDS = 20 };
static struct kit_buffer in, out;
static void *given;
static int deleted;

static void reduce(const char *when)
{
    int mine[COUNT], sum[COUNT], wrong = 0;
    for (int i = 0; i < COUNT; i++)
        mine[i] = i + kit_rank;
    void *from = kit_put(&in, 0, mine, sizeof mine), *to = kit_put(&out, 0, NULL, sizeof sum);
    const int error = MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memcpy(sum, kit_get(&out, NULL), sizeof sum);
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != kit_size * i + kit_size * (kit_size - 1) / 2;
    CHECK(error == MPI_SUCCESS && wrong == 0, "MPI_Allreduce %s: class %d, %d wrong", when, kit_class(error), wrong);
}

static void pass_on(const char *when)
{
    int mine[COUNT];
    for (int i = 0; i < COUNT; i++)
        mine[i] = 7 * i + kit_rank;
    void *from = kit_put(&in, 0, mine, sizeof mine), *to = kit_put(&out, 0, NULL, sizeof mine);
    const int next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    MPI_Request request;
    int error = MPI_Irecv(to, COUNT, MPI_INT, before, 3, MPI_COMM_WORLD, &request);
    error |= MPI_Send(from, COUNT, MPI_INT, next, 3, MPI_COMM_WORLD);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    CHECK(error == MPI_SUCCESS && got[0] == before && got[COUNT - 1] == 7 * (COUNT - 1) + before,
          "a message %s: class %d", when, kit_class(error));
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    const int which = *(int *)value;
    void *other = NULL;
    int finalized = 1;
    (void)comm, (void)key, (void)extra;
    MPI_Finalized(&finalized);
    CHECK(!finalized && deleted == 1 - which, "attribute %d is deleted as number %d", which, deleted);
    deleted++;
    reduce("in a callback of MPI_Finalize");
    pass_on("in a callback of MPI_Finalize");
    if (which == 0)
        CHECK(MPI_Free_mem(given) == MPI_SUCCESS, "MPI_Free_mem in MPI_Finalize");
    CHECK(MPI_Alloc_mem(8192, MPI_INFO_NULL, &other) == MPI_SUCCESS && MPI_Free_mem(other) == MPI_SUCCESS,
          "MPI_Alloc_mem in MPI_Finalize");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int which[2] = {0, 1};
    int key;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    alarm(SECONDS);
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, COUNT * sizeof(int));
    CHECK(MPI_Alloc_mem(4096, MPI_INFO_NULL, &given) == MPI_SUCCESS, "MPI_Alloc_mem");
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, &which[i]);
    }
    reduce("before the end");
    const int status = kit_end("at_end");
    CHECK(deleted == 2, "%d attributes of 2 were deleted", deleted);
    return status || check_failed() > 0;
}
