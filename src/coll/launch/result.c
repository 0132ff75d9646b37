/* Results of a call by rank: facts of the call alone, which every algorithm needs. */
#include "coll/algorithm.h"

struct tutti_result tutti_result_of(const struct tutti_call *call, int rank, int ranks)
{
    struct tutti_result part = {0, call->count};
    switch (call->collective) {
    case TUTTI_COLLECTIVE_REDUCE:
        part.count = rank == call->root ? call->count : 0;
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
        for (int r = 0; r < rank; r++)
            part.begin += call->counts[r];
        part.count = call->counts[rank];
        break;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        part.count = call->count / (size_t)ranks;
        part.begin = part.count * (size_t)rank;
        break;
    case TUTTI_COLLECTIVE_EXSCAN:
        part.count = rank > 0 ? call->count : 0;
        break;
    default:
        break;
    }
    return part;
}

int tutti_result_depth(const struct tutti_call *call, int rank, int ranks)
{
    if (call->collective == TUTTI_COLLECTIVE_SCAN)
        return rank + 1;
    return call->collective == TUTTI_COLLECTIVE_EXSCAN ? rank : ranks;
}

enum tutti_shape tutti_shape_of(const struct tutti_call *call)
{
    switch (call->collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        return TUTTI_SHAPE_ALL;
    case TUTTI_COLLECTIVE_REDUCE:
        return TUTTI_SHAPE_ROOT;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return TUTTI_SHAPE_SEGMENTS;
    case TUTTI_COLLECTIVE_SCAN:
        return TUTTI_SHAPE_THROUGH;
    case TUTTI_COLLECTIVE_EXSCAN:
        return TUTTI_SHAPE_BEFORE;
    default:
        return TUTTI_SHAPE_NOTHING;
    }
}
