/* Packets of the flow kernels in C: a unit is two packets (LL), or a line (LL128), of which the flag is stored last. A
 * part of flow_c.h. */
#ifndef TUTTI_KERNELS_FLOW_PACKETS_C_H
#define TUTTI_KERNELS_FLOW_PACKETS_C_H

TUTTI_FN unsigned tutti_unit_data(enum tutti_packets packets, unsigned size)
{
    return packets == TUTTI_LL ? 16 : tutti_line_data(size);
}

/* Packs `bytes` to `to`. */
TUTTI_FN void tutti_flow_pack(enum tutti_packets packets, unsigned size, unsigned char *to, const unsigned char *from,
                              uint64_t bytes, uint64_t epoch)
{
    const unsigned data = tutti_unit_data(packets, size);
    for (uint64_t at = 0; at < bytes; at += data) {
        const size_t some = bytes - at < data ? (size_t)(bytes - at) : data;
        if (packets == TUTTI_LL) {
            uint64_t words[2] = {0, 0};
            memcpy(words, from + at, some);
            for (int i = 0; i < 2; i++)
                tutti_dev_packet_store(to + 16 * i, tutti_dev_packet_of(words[i], (uint32_t)epoch | 0x80000000u));
            to += 32;
        } else {
            memcpy(to, from + at, some);
            __atomic_store_n((uint64_t *)(void *)(to + 120), epoch, __ATOMIC_RELEASE);
            to += TUTTI_LINE;
        }
    }
}

/* Waits for packets and unpacks `bytes`. */
TUTTI_FN int tutti_flow_unpack(const struct tutti_flow_args *args, enum tutti_packets packets, unsigned size,
                               unsigned char *to, const unsigned char *from, uint64_t bytes, uint64_t epoch,
                               unsigned rank)
{
    const unsigned data = tutti_unit_data(packets, size);
    struct tutti_patience patience = {0, 0};
    tutti_pace();
    for (uint64_t at = 0; at < bytes; at += data) {
        const size_t some = bytes - at < data ? (size_t)(bytes - at) : data;
        if (packets == TUTTI_LL) {
            uint64_t words[2];
            for (int i = 0; i < 2; i++) {
                struct tutti_dev_packet packet = tutti_dev_packet_load(from + 16 * i);
                while (!tutti_dev_packet_there(&packet, (uint32_t)epoch | 0x80000000u)) {
                    if (tutti_flow_tired(args, &patience, 8, rank))
                        return 0;
                    packet = tutti_dev_packet_load(from + 16 * i);
                }
                words[i] = tutti_dev_packet_data(&packet);
            }
            memcpy(to + at, words, some);
            from += 32;
        } else {
            while (__atomic_load_n((const uint64_t *)(const void *)(from + 120), __ATOMIC_ACQUIRE) != epoch) {
                if (tutti_flow_tired(args, &patience, 8, rank))
                    return 0;
            }
            memcpy(to + at, from, some);
            from += TUTTI_LINE;
        }
    }
    return 1;
}

TUTTI_FN void tutti_flow_push(const struct tutti_flow_args *args, enum tutti_packets packets, unsigned size,
                              struct tutti_span part, uint64_t epoch, int leads)
{
    for (unsigned l = 0; l < (leads ? args->locals : 1); l++) {
        const struct tutti_flow_local local = tutti_flow_local(args, l);
        for (unsigned i = 0; i < tutti_flow_places(args, l); i++) {
            const unsigned peer = tutti_flow_peer(args, i);
            if (tutti_flow_wanted(args, peer, leads).n != 0)
                tutti_flow_pack(packets, size,
                                tutti_flow_slot(args, peer, epoch, local.number) +
                                    tutti_flow_offset(packets, size, part.begin),
                                local.in + part.begin * size, part.n * size, epoch);
        }
    }
}

TUTTI_FN void tutti_flow_push_each(enum tutti_packets packets, unsigned size, const struct tutti_flow_spans *spans,
                                   unsigned places, uint64_t epoch)
{
    for (unsigned i = 0; i < places; i++)
        tutti_flow_pack(packets, size, spans[i].packets, spans[i].plain, spans[i].bytes, epoch);
}

TUTTI_FN void tutti_flow_push_segments(const struct tutti_flow_args *args, enum tutti_packets packets, unsigned size,
                                       uint64_t grain, unsigned block, uint64_t epoch, int leads)
{
    for (unsigned l = 0; l < (leads ? args->locals : 1); l++) {
        const struct tutti_flow_local local = tutti_flow_local(args, l);
        for (unsigned i = 0; i < tutti_flow_places(args, l); i++) {
            const unsigned peer = tutti_flow_peer(args, i);
            const struct tutti_span part = tutti_flow_part(args->n[peer], grain, block, args->blocks);
            tutti_flow_pack(packets, size,
                            tutti_flow_slot(args, peer, epoch, local.number) +
                                tutti_flow_offset(packets, size, part.begin),
                            local.in + (args->begin[peer] + part.begin) * size, part.n * size, epoch);
        }
    }
}

TUTTI_FN int tutti_flow_pull_each(const struct tutti_flow_args *args, enum tutti_packets packets, unsigned size,
                                  const struct tutti_flow_spans *spans, unsigned outs, uint64_t epoch)
{
    int ok = 1;
    for (unsigned i = 0; ok && i + 1 < args->ranks; i++) {
        ok = tutti_flow_unpack(args, packets, size, spans[i].plain, spans[i].packets, spans[i].bytes, epoch,
                               tutti_flow_peer(args, i));
        for (unsigned o = 1; ok && o < outs && spans[i].bytes > 0; o++)
            memcpy(tutti_flow_out(args, o) + (spans[i].plain - (unsigned char *)args->out), spans[i].plain,
                   (size_t)spans[i].bytes);
    }
    return ok;
}

#endif
