/* Types of characters in reductions: the standard does not name them, all MPIs take them, and programs and benchmarks
 * use them. On device memory each operator gives what the MPI gives on host memory, error or result, and what it
 * reduces is reduced by kernels. */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "kit.h"

enum { COUNT = 3001 };
static struct kit_buffer in, out;
static wchar_t mine[COUNT], want[COUNT];

static void one(const char *name, MPI_Datatype type, int op)
{
    int size = 0, guards = 0;
    MPI_Type_size(type, &size);
    const size_t bytes = (size_t)size * COUNT;
    uint64_t state = kit_seed + (uint64_t)(kit_rank * 1000003 + op * 20011);
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)mine)[i] = (unsigned char)(random_next(&state) & 7); /* Open MPI may saturate */
    const int host = MPI_Allreduce(mine, want, COUNT, type, kit_op(op), MPI_COMM_WORLD);
    const uint64_t before = kit_counted("MPI_Allreduce", "accelerated");
    void *to = kit_put(&out, 0, NULL, bytes);
    const int device = MPI_Allreduce(kit_put(&in, 0, mine, bytes), to, COUNT, type, kit_op(op), MPI_COMM_WORLD);
    CHECK(kit_class(host) == kit_class(device), "%s, %s: class %d on host memory, %d on device memory", name,
          oracle_op_name(op), kit_class(host), kit_class(device));
    if (host != MPI_SUCCESS || device != MPI_SUCCESS)
        return;
    CHECK(memcmp(kit_get(&out, &guards), want, bytes) == 0 && guards, "%s, %s: another result", name,
          oracle_op_name(op));
    CHECK(kit_plain || kit_counted("MPI_Allreduce", "accelerated") == before + 1, "%s, %s: not by kernels", name,
          oracle_op_name(op));
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, sizeof mine);
    kit_open(&out, KIT_DEVICE, sizeof want);
    const struct {
        const char *name;
        MPI_Datatype type;
    } types[] = {{"MPI_CHAR", MPI_CHAR},
                 {"MPI_SIGNED_CHAR", MPI_SIGNED_CHAR},
                 {"MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR},
                 {"MPI_WCHAR", MPI_WCHAR}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (oracle_reduces(op))
                one(types[t].name, types[t].type, op);
        }
    }
    kit_close(&in);
    kit_close(&out);
    return kit_end("characters");
}
