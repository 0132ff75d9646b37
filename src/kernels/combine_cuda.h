/* Contributions in packets combined in rank order, in CUDA C++; see flow.inc. Included by packets_cuda.h. */
#ifndef TUTTI_KERNELS_COMBINE_CUDA_H
#define TUTTI_KERNELS_COMBINE_CUDA_H

/* Every thread combines its units, of up to four ranks at a time under way. */
template <class F, class PAIR>
static __device__ __forceinline__ int tutti_flow_combine(const struct tutti_flow_args *args, const PAIR pair,
                                                         unsigned size, const struct tutti_flow_sum *sum)
{
    typedef typename PAIR::elem elem;
    enum { COUNT = 16 / sizeof(elem), BATCH = 4 };
    union unit {
        uint4 v;
        elem e[COUNT];
    };
    const uint32_t bytes = (uint32_t)(sum->n * size), units = F::units(bytes);
    const uint64_t epoch = sum->epoch;
    const unsigned in_aligned = tutti_aligned((uint64_t)sum->own, F::STEP);
    const unsigned out_aligned = tutti_aligned((uint64_t)sum->out, F::STEP);
    const unsigned depth = sum->depth;
#pragma unroll 1
    for (uint32_t u = threadIdx.x; u < units; u += blockDim.x) {
        const unsigned valid = F::valid(u, bytes);
        const uint32_t wire = F::wire(u);
        typename PAIR::acc acc[COUNT];
        union unit own, result;
        if (args->rank < depth)
            own.v = tutti_plain_load(sum->own + F::data(u), valid, in_aligned);
#pragma unroll 1
        for (unsigned r = 0; r < depth; r += BATCH) {
            typename F::held held[BATCH];
            union unit part[BATCH];
            tutti_packets_together<F>();
#pragma unroll
            for (unsigned k = 0; k < BATCH; k++) {
                if (r + k == args->rank)
                    part[k].v = own.v;
                else if (r + k < depth)
                    F::look(sum->slots + (r + k) * args->room + wire, &held[k]);
            }
#pragma unroll
            for (unsigned k = 0; k < BATCH; k++) {
                if (r + k < depth) {
                    if (r + k != args->rank) {
                        if (!tutti_packet_wait<F>(args, sum->slots + (r + k) * args->room + wire, epoch, r + k,
                                                  &held[k]))
                            return 0;
                        part[k].v = F::value(&held[k]);
                    }
                    const int start = r + k == 0;
                    if (start)
                        result.v = part[k].v; /* alone it stays as it is */
#pragma unroll
                    for (int e = 0; e < COUNT; e++) {
                        const typename PAIR::acc x = pair.widen(part[k].e[e]);
                        acc[e] = start ? x : pair.combine(acc[e], x);
                    }
                }
            }
        }
        if (u == threadIdx.x && depth == args->ranks && !args->early)
            tutti_flow_let_go();
        if (depth > 1) {
#pragma unroll
            for (int e = 0; e < COUNT; e++)
                result.e[e] = pair.narrow(acc[e]);
        }
        if (sum->receivers != TUTTI_FLOW_NOBODY)
            tutti_packets_together<F>();
        if (sum->receivers == TUTTI_FLOW_PEERS) {
#pragma unroll 4
            for (unsigned i = 0; i + 1 < args->ranks; i++)
                F::store((unsigned char *)args->window[tutti_flow_peer(args, i)] + sum->result + wire, u, result.v,
                         epoch);
        } else if (sum->receivers == TUTTI_FLOW_ROOT && args->rank != args->root) {
            F::store((unsigned char *)args->window[args->root] + sum->result + wire, u, result.v, epoch);
        }
        if (sum->out)
            tutti_plain_store(sum->out + F::data(u), result.v, valid, out_aligned);
    }
    return 1;
}

#endif
