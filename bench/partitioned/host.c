/* The kernel on the host device: a function that the calling thread runs when it is launched. The stream is empty
 * then, so the order is that of a stream. */
#include "examples/kernels/grid.h"

#include "bench/partitioned/part.h"

#include "tutti/device/prequest.h"

#include "bench/partitioned/fill.inc"

static int part_host_open(int gpu)
{
    (void)gpu;
    return 0;
}

static int part_host_launch(const struct part_launch *launch, void *stream)
{
    (void)stream;
    part_fill(*launch);
    return 0;
}

const struct part_kernels part_host_kernels = {part_host_open, part_host_launch};
