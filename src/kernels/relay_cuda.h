/* A rank's part in a chain, in CUDA C++; see flow.inc. Included by packets_cuda.h. */
#ifndef TUTTI_KERNELS_RELAY_CUDA_H
#define TUTTI_KERNELS_RELAY_CUDA_H

/* Every thread takes its units, BATCH of them under way. */
template <class F, class PAIR>
static __device__ __forceinline__ int tutti_flow_relay(const struct tutti_flow_args *args, const PAIR pair,
                                                       unsigned size, const struct tutti_flow_link *link)
{
    typedef typename PAIR::elem elem;
    enum { COUNT = 16 / sizeof(elem), BATCH = 2 };
    union unit {
        uint4 v;
        elem e[COUNT];
    };
    const uint32_t bytes = (uint32_t)(link->n * size), units = F::units(bytes);
    const unsigned own_aligned = tutti_aligned((uint64_t)link->own, F::STEP);
    const unsigned out_aligned = tutti_aligned((uint64_t)link->out, F::STEP);
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < units; first += blockDim.x * BATCH) {
        typename F::held held[BATCH];
        union unit mine[BATCH];
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t u = first + b * blockDim.x;
            if (u < units && link->from)
                F::look(link->from + F::wire(u), &held[b]);
            if (u < units && link->own)
                mine[b].v = tutti_plain_load(link->own + F::data(u), F::valid(u, bytes), own_aligned);
        }
#pragma unroll
        for (unsigned b = 0; b < BATCH; b++) {
            const uint32_t u = first + b * blockDim.x;
            if (u >= units)
                break;
            union unit result = mine[b];
            if (link->from) {
                if (!tutti_packet_wait<F>(args, link->from + F::wire(u), link->flag, link->rank, &held[b]))
                    return 0;
                result.v = F::value(&held[b]);
                if (link->own) {
#pragma unroll
                    for (int e = 0; e < COUNT; e++)
                        result.e[e] = pair.narrow(pair.combine(pair.widen(result.e[e]), pair.widen(mine[b].e[e])));
                }
            }
            if (link->to)
                tutti_packets_together<F>();
            if (link->to)
                F::store(link->to + F::wire(u), u, result.v, link->flag);
            if (link->out)
                tutti_plain_store(link->out + F::data(u), result.v, F::valid(u, bytes), out_aligned);
        }
    }
    return 1;
}

#endif
