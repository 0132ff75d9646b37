/* Files: each rank writes or reads a part of one file, beside those of the other ranks. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/access/access.h"
#include "bench/common/by_hand.h"
#include "tutti/tutti.h"

static int files_write(const struct access *a)
{
    return a->what->id == ACCESS_FILE_WRITE;
}

static MPI_Offset files_place(const struct access *a)
{
    return (MPI_Offset)a->rank * (MPI_Offset)a->bytes;
}

static void files_open(struct access *a)
{
    char path[512];
    int process = (int)getpid();
    bench_mpi.Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/tutti-bench-%d", a->what->folder, process);
    const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &a->file) != MPI_SUCCESS)
        bench_fail("%s cannot be opened: --folder names another place", path);
}

static void files_close(struct access *a)
{
    MPI_File_close(&a->file);
}

static void files_prepare(struct access *a, int way, int part, uint64_t seed)
{
    const struct bench_calls *own = &a->mpi[ACCESS_WAY_HOST];
    (void)part;
    access_fill(a->scratch, a->bytes, seed + (uint64_t)a->rank * 131);
    if (files_write(a)) {
        bench_must(tutti_copy(a->device, a->scratch, a->bytes), "copying to the device");
        memcpy(a->pinned, a->scratch, a->bytes);
    } else {
        access_must(
            a, way,
            own->File_write_at(a->file, files_place(a), a->scratch, (int)a->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        memset(a->scratch, 0x5a, a->bytes);
        bench_must(tutti_copy(a->device, a->scratch, a->bytes), "copying to the device");
        memset(a->pinned, 0x5b, a->bytes);
    }
}

static void files_run(struct access *a, int way, int part)
{
    const struct bench_calls *mpi = &a->mpi[way];
    const MPI_Offset at = files_place(a);
    char *memory = access_memory(a, way);
    const int n = (int)a->bytes, all = a->what->collective;
    (void)part;
    if (way == ACCESS_WAY_HAND && files_write(a))
        bench_copy_by_hand(a->pinned, a->device, a->bytes, "copying from the device");
    if (files_write(a))
        access_must(
            a, way,
            (all ? mpi->File_write_at_all : mpi->File_write_at)(a->file, at, memory, n, MPI_BYTE, MPI_STATUS_IGNORE));
    else
        access_must(
            a, way,
            (all ? mpi->File_read_at_all : mpi->File_read_at)(a->file, at, memory, n, MPI_BYTE, MPI_STATUS_IGNORE));
    if (way == ACCESS_WAY_HAND && !files_write(a))
        bench_copy_by_hand(a->device, a->pinned, a->bytes, "copying to the device");
}

/* Compares what is in the file, or what was read from it. */
static int files_check(struct access *a, int way, int part, uint64_t seed)
{
    (void)part;
    if (files_write(a))
        access_must(a, way,
                    a->mpi[ACCESS_WAY_HOST].File_read_at(a->file, files_place(a), a->scratch, (int)a->bytes, MPI_BYTE,
                                                         MPI_STATUS_IGNORE));
    else if (way == ACCESS_WAY_HOST)
        memcpy(a->scratch, a->pinned, a->bytes);
    else
        bench_must(tutti_copy(a->scratch, a->device, a->bytes), "copying from the device");
    return access_same(a->scratch, a->bytes, seed + (uint64_t)a->rank * 131);
}

const struct access_row access_files = {.open = files_open,
                                        .close = files_close,
                                        .prepare = files_prepare,
                                        .run = files_run,
                                        .check = files_check,
                                        .all = 1};
