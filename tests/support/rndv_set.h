/* A side of a rendezvous as tests play it: any state, at once. The library itself moves states by compare and swap. */
#ifndef TUTTI_TESTS_RNDV_SET_H
#define TUTTI_TESTS_RNDV_SET_H

#include "team/endpoint.h"

static inline void rndv_set(struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    atomic_store_explicit(&rndv->state, (uint32_t)state, memory_order_release);
}

#endif
