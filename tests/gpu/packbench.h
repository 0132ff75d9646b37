/* Times of packing on one GPU: what the rows and the clock share. */
#ifndef TUTTI_TESTS_PACKBENCH_H
#define TUTTI_TESTS_PACKBENCH_H

#include <cuda.h>

#include "dtype/pack.h"

enum { FACES = 26, QUANTITIES = 8 };

struct row {
    const char *name;
    unsigned jobs;
    struct tutti_pack_job job[FACES * QUANTITIES];
    uint64_t payload, touched; /* bytes; touched: of the strided side, in sectors */
    int copies;                /* 2, 3: cuMemcpy2D/3D can say it */
    CUDA_MEMCPY3D copy;
};

extern const struct tutti_device *device;
extern struct tutti_stream *stream;
extern int gpu;

/* Ends the program where something did not work. */
void need(int fine, const char *what);
/* Measures the row, both ways, and prints it. */
void show(struct row *row);
/* All rows whose name contains `only` (NULL: all). */
void rows(const char *only);

#endif
