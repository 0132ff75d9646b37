/* Accesses of a file in `tutti tune`: each rank writes and reads its own part of one file from and into device memory,
 * by the way that the rules in force name. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/calls.h"
#include "bench/tune/tune.h"
#include "core/clock.h"
#include "dtype/file_ways.h"
#include "tutti/tutti.h"

enum { PIECE = 64 << 10, FILE_LEAST = 2 << 10 };
enum { FILE_SECTIONS = 1u << TUNE_FILE_WRITE | 1u << TUNE_FILE_READ };

static struct bench_calls own; /* of the MPI, on host memory */

const char *tune_file_rules(int way)
{
    static const char *const rules[] = {
#define RULES(way) "file_write: *@" #way " file_read: *@" #way,
        TUNE_FILE_WAYS(RULES)
#undef RULES
    };
    return rules[way - TUNE_BEFORE_FILE_WAYS - 1];
}

size_t tune_file_size(size_t bytes)
{
    return bytes >= FILE_LEAST && bytes <= INT_MAX / 2 ? bytes : 0;
}

/* ---- data ---- */

static MPI_Offset file_place(const struct tune *tune, size_t bytes)
{
    return (MPI_Offset)tune->plan->rank * (MPI_Offset)bytes;
}

static void file_must(int error, size_t bytes)
{
    if (error != MPI_SUCCESS)
        bench_fail("an access of %zu bytes of a file failed with error %d", bytes, error);
}

static void file_picture(const struct tune *tune, size_t from, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        const uint64_t x = (tune->file.seed + from + i) * 0x9e3779b97f4a7c15u, word = x ^ x >> 29;
        memcpy(out + i, &word, sizeof word);
    }
}

enum file_side { DEVICE, IN_FILE };

/* Puts the picture into device memory or the file, or compares it with their contents. 1 if they are the same. */
static int file_visit(const struct tune *tune, enum file_side side, size_t bytes, int compare)
{
    char *const here = tune->host, *const got = tune->host + PIECE, *const device = (char *)tune->out;
    for (size_t from = 0; from < bytes; from += PIECE) {
        const size_t n = bytes - from < PIECE ? bytes - from : PIECE;
        const MPI_Offset at = file_place(tune, bytes) + (MPI_Offset)from;
        file_picture(tune, from, n, here);
        if (side == DEVICE)
            bench_must(compare ? tutti_copy(got, device + from, n) : tutti_copy(device + from, here, n), "copying");
        else if (compare)
            file_must(own.File_read_at(tune->file.handle, at, got, (int)n, MPI_BYTE, MPI_STATUS_IGNORE), n);
        else
            file_must(own.File_write_at(tune->file.handle, at, here, (int)n, MPI_BYTE, MPI_STATUS_IGNORE), n);
        if (compare && memcmp(here, got, n) != 0)
            return 0;
    }
    return 1;
}

/* ---- calls ---- */

static void file_access(const struct tune *tune, int section, size_t bytes)
{
    const MPI_Offset at = file_place(tune, bytes);
    file_must(section == TUNE_FILE_WRITE
                  ? MPI_File_write_at(tune->file.handle, at, tune->out, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                  : MPI_File_read_at(tune->file.handle, at, tune->out, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              bytes);
}

int tune_file_try(struct tune *tune, struct tune_column *column, int section, size_t bytes)
{
    const enum file_side from = section == TUNE_FILE_WRITE ? DEVICE : IN_FILE, to = from == DEVICE ? IN_FILE : DEVICE;
    tune_rules_take(column->rules);
    column->algorithm = TUNE_BEFORE_FILE_WAYS + 1 + (int)tutti_file_way(section == TUNE_FILE_WRITE, bytes);
    tune->file.seed += 0x10000019;
    file_visit(tune, to, bytes, 0); /* other data than will come */
    tune->file.seed += 0x10000019;
    file_visit(tune, from, bytes, 0);
    file_access(tune, section, bytes);
    return file_visit(tune, to, bytes, 1);
}

double tune_file_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes)
{
    double took = 0;
    tune_rules_take(column->rules);
    for (int i = 0; i < column->calls; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        file_access(tune, section, bytes);
        took += (double)(tutti_now_ns() - start) * 1e-3;
    }
    return took / column->calls;
}

void tune_file_open(struct tune *tune, const char *folder)
{
    char path[512];
    int process = (int)getpid();
    if (!(tune->sections & FILE_SECTIONS))
        return;
    bench_calls_own(&own);
    bench_mpi.Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/tutti-tune-%d", folder, process);
    const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &tune->file.handle) == MPI_SUCCESS) {
        tune->file.open = 1;
        return;
    }
    bench_say(tune->plan, "note no rules for files: %s cannot be opened (--folder)", path);
    tune->sections &= ~(unsigned)FILE_SECTIONS;
}

void tune_file_close(struct tune *tune)
{
    if (tune->file.open)
        MPI_File_close(&tune->file.handle);
}
