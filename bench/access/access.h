/* Files and windows: bandwidth of accesses from and into device memory, and latency of operations on windows. */
#ifndef TUTTI_BENCH_ACCESS_H
#define TUTTI_BENCH_ACCESS_H

#include "bench/common/calls.h"
#include "bench/words/access.h"

struct access_plan {
    int id;             /* enum access_id */
    int collective;     /* files: 1: the _all form */
    const char *folder; /* of the file */
    int sync;           /* windows: enum access_sync */
    int window;         /* windows: operations that end together */
    int exposed_host;   /* windows: 1: the window of the library's way lies in host memory too */
};

struct access_row;
struct access {
    const struct bench_plan *plan;
    const struct access_plan *what;
    const struct access_row *row;
    struct bench_calls mpi[ACCESS_WAYS];
    int used[ACCESS_WAYS];
    int rank;
    size_t bytes;             /* of an access */
    int places;               /* accesses that the memory has room for */
    size_t room;              /* bytes of each memory below */
    char *device, *pinned;    /* what is written or read; HAND: `pinned`, and `device` behind it */
    char *scratch;            /* as large */
    MPI_File file;            /* files */
    MPI_Win win[ACCESS_WAYS]; /* windows; of the memory: */
    char *exposed[ACCESS_WAYS];
    MPI_Group peer; /* the other rank */
};

struct access_row {
    void (*open)(struct access *);
    void (*close)(struct access *);
    /* New data where it is read, nothing right where it is written. Not timed; collective. */
    void (*prepare)(struct access *, int way, int part, uint64_t seed);
    /* The access; what has to end it, too. */
    void (*run)(struct access *, int way, int part);
    /* Local. 1 if all is right here. */
    int (*check)(struct access *, int way, int part, uint64_t seed);
    int all; /* 1: all ranks work, and the longest time counts; 0: the time is rank 0's */
};
extern const struct access_row access_files, access_windows;

const char *access_way_name(int way);
/* Where `way` reads or writes: device memory, or pinned host memory. */
char *access_memory(const struct access *a, int way);
void access_must(const struct access *a, int way, int error);
/* Bytes that follow from a seed; 1 if they are those. */
void access_fill(char *out, size_t bytes, uint64_t seed);
void access_fill_at(char out[8], size_t at, uint64_t seed); /* from byte `at` on, a multiple of 8 */
int access_same(const char *got, size_t bytes, uint64_t seed);
/* Operations of a part. */
int access_times(const struct access *a, int part);
void bench_access(struct bench_plan *plan, const struct access_plan *what);

#endif
