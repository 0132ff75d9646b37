/* Small messages between the members of a team, in packets (packet.h).
 *
 * A step is an exchange: every member stores at least one packet into its slot at every other one, and waits for all
 * that are sent to it: so the rule of team.h holds. */
#ifndef TUTTI_DEVICE_PACKETS_H
#define TUTTI_DEVICE_PACKETS_H

enum {
    TUTTI_DEV_PACKET = 8,   /* bytes of data */
    TUTTI_DEV_AHEAD = 4,    /* packets of a thread that are under way */
    TUTTI_DEV_ALONE = 8,    /* the same of a call by one thread, beside which no other's are: what 64 registers hold */
    TUTTI_DEV_SMALL = 4096, /* most bytes that a member sends another one as packets. Members may call in several forms:
                               the size of a group has no say */
    TUTTI_DEV_SURE = TSHMEM_PACKETS_BYTES / TSHMEM_NEAR_MAX / 2 /* bytes that have room in every team */
};

/* One exchange. */
struct tutti_dev_exchange {
    struct tutti_dev_team team;
    uint32_t flag;
    unsigned slot; /* bytes of a member's slot */
    uint64_t at;   /* of the slots, in every heap */
    char *own;     /* own slots */
};

/* Bytes of a slot: a share of the half for each member, of as many as the next power of two: nothing is divided. */
TUTTI_DEV unsigned tutti_dev_slot_of(int members)
{
    return (TSHMEM_PACKETS_BYTES / 16u >> tutti_dev_shift((unsigned)members)) * 16u;
}

TUTTI_DEV unsigned tutti_dev_slot(const struct tutti_dev_meeting *meeting)
{
    return tutti_dev_slot_of(meeting->team.size);
}

/* 1 if so many bytes from each of so many members have room: alike on all members. */
TUTTI_DEV int tutti_dev_has_room(int members, size_t bytes)
{
    return bytes <= TUTTI_DEV_SMALL && bytes <= tutti_dev_slot_of(members) / 16 * TUTTI_DEV_PACKET;
}

TUTTI_DEV int tutti_dev_is_small(const struct tutti_dev_meeting *meeting, size_t bytes)
{
    return tutti_dev_has_room(meeting->team.size, bytes);
}

/* 1 if the next step may be a quick one, after which no member checks whether packets must be renewed: the same on all
 * members. The first use of the sequence, whose load is still under way. */
TUTTI_DEV int tutti_dev_goes_on(const struct tutti_dev_meeting *meeting)
{
    return (uint32_t)meeting->sequence < 0u - 2 * TUTTI_DEV_RENEW;
}

TUTTI_DEV struct tutti_dev_exchange tutti_dev_exchange(struct tutti_dev_meeting *meeting)
{
    struct tutti_dev_exchange exchange;
    const uint64_t sequence = ++meeting->sequence;
    exchange.team = meeting->team;
    exchange.flag = (uint32_t)sequence;
    exchange.slot = tutti_dev_slot(meeting);
    exchange.own = tutti_dev_global(tutti_dev_own_area(meeting)->packets[(uint32_t)sequence % 2]);
    exchange.at = (uint64_t)(exchange.own - tutti_dev_state()->heap);
    return exchange;
}

/* Packet `number` from member `from`. */
TUTTI_DEV char *tutti_dev_packet_from(const struct tutti_dev_exchange *exchange, int from, unsigned number)
{
    return exchange->own + ((unsigned)from * exchange->slot + number * 16);
}

/* Where the own packet `number` lies in the heap of whomever it goes to. */
TUTTI_DEV uint64_t tutti_dev_packet_at(const struct tutti_dev_exchange *exchange, unsigned number)
{
    return exchange->at + ((unsigned)exchange->team.me * exchange->slot + number * 16);
}

TUTTI_DEV char *tutti_dev_packet_to(const struct tutti_dev_exchange *exchange, int to, unsigned number)
{
    return tutti_dev_heap(tutti_dev_pe(&exchange->team, to)) + tutti_dev_packet_at(exchange, number);
}

/* Member (first + i) % members. */
TUTTI_DEV int tutti_dev_round(const struct tutti_dev_exchange *exchange, int first, unsigned i)
{
    const int member = first + (int)i;
    return member < exchange->team.size ? member : member - exchange->team.size;
}

TUTTI_DEV unsigned tutti_dev_packets(unsigned bytes)
{
    return (bytes + TUTTI_DEV_PACKET - 1) / TUTTI_DEV_PACKET;
}

/* Bytes of data in packet `number` of `bytes` bytes. */
TUTTI_DEV unsigned tutti_dev_valid(unsigned bytes, unsigned number)
{
    const unsigned before = number * TUTTI_DEV_PACKET;
    return before >= bytes ? 0 : bytes - before < TUTTI_DEV_PACKET ? bytes - before : (unsigned)TUTTI_DEV_PACKET;
}

/* Up to 8 bytes of a buffer of any alignment. */
TUTTI_DEV tutti_dev_u64 tutti_dev_gather(const char *from, unsigned valid)
{
    tutti_dev_u64 data = 0;
    if (valid == 8 && (unsigned)(uintptr_t)from % 8 == 0) {
        data = *(const tutti_dev_u64 *)(const void *)from;
    } else if (valid % 4 == 0 && (unsigned)(uintptr_t)from % 4 == 0) {
        if (valid > 0)
            data = *(const tutti_dev_u32 *)(const void *)from;
        if (valid > 4)
            data |= (tutti_dev_u64) * (const tutti_dev_u32 *)(const void *)(from + 4) << 32;
    } else {
        TUTTI_DEV_UNROLL_1
        for (unsigned i = 0; i < valid; i++)
            data |= (tutti_dev_u64) * (const tutti_dev_u8 *)(const void *)(from + i) << 8 * i;
    }
    return data;
}

TUTTI_DEV void tutti_dev_scatter(char *to, tutti_dev_u64 data, unsigned valid)
{
    if (valid == 8 && (unsigned)(uintptr_t)to % 8 == 0) {
        *(tutti_dev_u64 *)(void *)to = data;
    } else if (valid % 4 == 0 && (unsigned)(uintptr_t)to % 4 == 0) {
        if (valid > 0)
            *(tutti_dev_u32 *)(void *)to = (tutti_dev_u32)data;
        if (valid > 4)
            *(tutti_dev_u32 *)(void *)(to + 4) = (tutti_dev_u32)(data >> 32);
    } else {
        TUTTI_DEV_UNROLL_1
        for (unsigned i = 0; i < valid; i++)
            *(tutti_dev_u8 *)(void *)(to + i) = (tutti_dev_u8)(data >> 8 * i);
    }
}

/* Looks until it is there, from that member, and marks the meeting as failed where it gives up. */
TUTTI_DEV void tutti_dev_packet_wait(struct tutti_dev_meeting *meeting, int from, const char *at,
                                     struct tutti_dev_packet *packet, uint32_t flag)
{
    struct tutti_dev_patience patience = {0, 0};
    TUTTI_DEV_UNROLL_1
    while (!tutti_dev_packet_there(packet, flag) && !meeting->failed) {
        if (tutti_dev_gives_up(meeting, &patience, from))
            meeting->failed = 1;
        else
            tutti_dev_load_pair(at, &packet->a, &packet->b);
    }
}

/* ---- whole messages ---- */

/* Where no thread has more than one packet's number: packets of `each` numbers and of several members, dealt out to as
 * many threads as there are; a thread has one number, of each `lanes`th member from `lane` on. */
struct tutti_dev_deal {
    unsigned number, lane, lanes;
};

TUTTI_DEV struct tutti_dev_deal tutti_dev_deal(int group, unsigned each)
{
    const unsigned rank = (unsigned)tutti_dev_rank(group), shift = tutti_dev_shift(each);
    const unsigned lanes = (unsigned)tutti_dev_size(group) >> shift;
    const struct tutti_dev_deal one = {rank, rank < each ? 0 : ~0u / 2, 1};
    struct tutti_dev_deal deal = {rank & ((1u << shift) - 1), rank >> shift, lanes};
    if (deal.number >= each || deal.lane >= lanes)
        deal.lane = ~0u / 2; /* past all members */
    return lanes > 1 ? deal : one;
}

/* As tutti_dev_packets_send(), to each other member one packet of `data`, behind `skip` others. */
TUTTI_DEV void tutti_dev_packets_send_word(const struct tutti_dev_exchange *exchange, int group, tutti_dev_u64 data,
                                           unsigned skip)
{
    const struct tutti_dev_packet packet = tutti_dev_packet_of(data, exchange->flag);
    const uint64_t at = tutti_dev_packet_at(exchange, skip);
    TUTTI_DEV_UNROLL_1
    for (unsigned i = 1 + (unsigned)tutti_dev_rank(group); i < (unsigned)exchange->team.size;
         i += (unsigned)tutti_dev_size(group))
        tutti_dev_store_pair(tutti_dev_heap(tutti_dev_pe(&exchange->team, tutti_dev_behind(&exchange->team, i))) + at,
                             packet.a, packet.b);
}

/* Packets n, n + size ..., `ahead` of them, which whole words fill: all words are loaded before the first packet is
 * stored. keep: NULL, or where the words are stored, too. 0: they are not aligned, and nothing is stored. */
TUTTI_DEV int tutti_dev_packets_put(char *there, const char *from, char *keep, unsigned n, unsigned size, uint32_t flag,
                                    unsigned ahead)
{
    const tutti_dev_u64 *const word = (const tutti_dev_u64 *)(const void *)from + n;
    tutti_dev_u64 data[TUTTI_DEV_ALONE];
    if (((unsigned)(uintptr_t)from | (unsigned)(uintptr_t)keep) % 8 != 0)
        return 0;
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead; b++)
        data[b] = word[b * size];
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead; b++)
        tutti_dev_packet_store(there + (n + b * size) * 16, tutti_dev_packet_of(data[b], flag));
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead && keep; b++)
        ((tutti_dev_u64 *)(void *)keep)[n + b * size] = data[b];
    return 1;
}

/* The same of `ahead` packets that have arrived. 0: one of them has not, or the words are not aligned, and nothing is
 * stored.
 */
TUTTI_DEV int tutti_dev_packets_take(char *to, const char *slot, unsigned n, unsigned size, uint32_t flag,
                                     unsigned ahead)
{
    tutti_dev_u64 *const word = (tutti_dev_u64 *)(void *)to + n;
    struct tutti_dev_packet packet[TUTTI_DEV_ALONE];
    int there = (unsigned)(uintptr_t)to % 8 == 0;
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead; b++)
        packet[b] = tutti_dev_packet_load(slot + (n + b * size) * 16);
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead; b++)
        there &= tutti_dev_packet_there(&packet[b], flag);
    TUTTI_DEV_UNROLL
    for (unsigned b = 0; b < ahead && there; b++)
        word[b * size] = tutti_dev_packet_data(&packet[b]);
    return there;
}

/* `bytes` bytes from source + member * step on to each other member, behind `skip` packets; at least one packet. A
 * thread sends each size'th number to all of them. keep: NULL, or where what goes to all is stored on this PE, too:
 * each word once it has been sent to the last one. */
TUTTI_DEV void tutti_dev_packets_send(const struct tutti_dev_exchange *exchange, int group, const void *source,
                                      unsigned step, unsigned bytes, unsigned skip, void *keep)
{
    const unsigned each = bytes > 0 ? tutti_dev_packets(bytes) : 1, size = (unsigned)tutti_dev_size(group);
    const unsigned ahead = group == TUTTI_BY_THREAD ? TUTTI_DEV_ALONE : TUTTI_DEV_AHEAD;
    TUTTI_DEV_UNROLL_1
    for (unsigned i = 1; i < (unsigned)exchange->team.size; i++) {
        const int to = tutti_dev_behind(&exchange->team, i);
        const char *const from = (const char *)source + (unsigned)to * step;
        char *const there = tutti_dev_packet_to(exchange, to, skip);
        char *const kept = i + 1 == (unsigned)exchange->team.size ? (char *)keep : NULL;
        TUTTI_DEV_UNROLL_1
        for (unsigned n = (unsigned)tutti_dev_rank(group); n < each; n += TUTTI_DEV_AHEAD * size) {
            tutti_dev_u64 data[TUTTI_DEV_AHEAD];
            if (n + (ahead - 1) * size < bytes / TUTTI_DEV_PACKET &&
                tutti_dev_packets_put(there, from, kept, n, size, exchange->flag, ahead)) {
                n += (ahead - TUTTI_DEV_AHEAD) * size;
                continue;
            }
            TUTTI_DEV_UNROLL
            for (unsigned b = 0; b < TUTTI_DEV_AHEAD && n + b * size < each; b++)
                data[b] =
                    tutti_dev_gather(from + (n + b * size) * TUTTI_DEV_PACKET, tutti_dev_valid(bytes, n + b * size));
            TUTTI_DEV_UNROLL
            for (unsigned b = 0; b < TUTTI_DEV_AHEAD && n + b * size < each; b++) {
                const struct tutti_dev_packet packet = tutti_dev_packet_of(data[b], exchange->flag);
                tutti_dev_store_pair(there + (n + b * size) * 16, packet.a, packet.b);
                if (kept)
                    tutti_dev_scatter(kept + (n + b * size) * TUTTI_DEV_PACKET, data[b],
                                      tutti_dev_valid(bytes, n + b * size));
            }
        }
    }
}

/* As tutti_dev_packets_recv(), where tutti_dev_is_quick(). */
TUTTI_DEV void tutti_dev_packets_recv_few(const struct tutti_dev_exchange *exchange, struct tutti_dev_meeting *meeting,
                                          const struct tutti_dev_deal *deal, void *dest, unsigned step, unsigned bytes,
                                          int first, unsigned members)
{
    const unsigned valid = tutti_dev_valid(bytes, deal->number);
    TUTTI_DEV_UNROLL_1
    for (unsigned i = deal->lane; i < members; i += deal->lanes) {
        const int from = tutti_dev_round(exchange, first, i);
        const char *const at = tutti_dev_packet_from(exchange, from, deal->number);
        struct tutti_dev_packet packet;
        tutti_dev_load_pair(at, &packet.a, &packet.b);
        tutti_dev_packet_wait(meeting, from, at, &packet, exchange->flag);
        tutti_dev_scatter((char *)dest + ((unsigned)from * step + deal->number * TUTTI_DEV_PACKET),
                          tutti_dev_packet_data(&packet), valid);
    }
}

/* `bytes` bytes from each of `members` members, from `first` on round the team, to dest + member * step. */
TUTTI_DEV void tutti_dev_packets_recv(const struct tutti_dev_exchange *exchange, struct tutti_dev_meeting *meeting,
                                      void *dest, unsigned step, unsigned bytes, int first, unsigned members,
                                      unsigned skip)
{
    const unsigned each = bytes > 0 ? tutti_dev_packets(bytes) : 1, size = (unsigned)tutti_dev_size(meeting->group);
    const unsigned ahead = meeting->group == TUTTI_BY_THREAD ? TUTTI_DEV_ALONE : TUTTI_DEV_AHEAD;
    TUTTI_DEV_UNROLL_1
    for (unsigned i = 0; i < members; i++) {
        const int from = tutti_dev_round(exchange, first, i);
        const char *const slot = tutti_dev_packet_from(exchange, from, skip);
        char *const to = (char *)dest + (unsigned)from * step;
        TUTTI_DEV_UNROLL_1
        for (unsigned n = (unsigned)tutti_dev_rank(meeting->group); n < each; n += TUTTI_DEV_AHEAD * size) {
            struct tutti_dev_packet packet[TUTTI_DEV_AHEAD];
            if (n + (ahead - 1) * size < bytes / TUTTI_DEV_PACKET &&
                tutti_dev_packets_take(to, slot, n, size, exchange->flag, ahead)) {
                n += (ahead - TUTTI_DEV_AHEAD) * size;
                continue;
            }
            TUTTI_DEV_UNROLL
            for (unsigned b = 0; b < TUTTI_DEV_AHEAD && n + b * size < each; b++)
                tutti_dev_load_pair(slot + (n + b * size) * 16, &packet[b].a, &packet[b].b);
            TUTTI_DEV_UNROLL
            for (unsigned b = 0; b < TUTTI_DEV_AHEAD && n + b * size < each; b++) {
                tutti_dev_packet_wait(meeting, from, slot + (n + b * size) * 16, &packet[b], exchange->flag);
                tutti_dev_scatter(to + (n + b * size) * TUTTI_DEV_PACKET, tutti_dev_packet_data(&packet[b]),
                                  tutti_dev_valid(bytes, n + b * size));
            }
        }
    }
}

/* Packet 0 of that member, to every thread that asks. */
TUTTI_DEV void tutti_dev_packets_one(const struct tutti_dev_exchange *exchange, struct tutti_dev_meeting *meeting,
                                     int from, tutti_dev_u64 *data)
{
    const char *const at = tutti_dev_packet_from(exchange, from, 0);
    struct tutti_dev_packet packet;
    tutti_dev_load_pair(at, &packet.a, &packet.b);
    tutti_dev_packet_wait(meeting, from, at, &packet, exchange->flag);
    *data = tutti_dev_packet_data(&packet);
}

/* Waits for the packet of every other member. */
TUTTI_DEV void tutti_dev_packets_await(const struct tutti_dev_exchange *exchange, struct tutti_dev_meeting *meeting)
{
    tutti_dev_u64 data;
    TUTTI_DEV_UNROLL_1
    for (size_t i = 1 + tutti_dev_rank(meeting->group); i < (size_t)exchange->team.size;
         i += tutti_dev_size(meeting->group))
        tutti_dev_packets_one(exchange, meeting, tutti_dev_round(exchange, exchange->team.me, (unsigned)i), &data);
}

/* An exchange of nothing. */
TUTTI_DEV void tutti_dev_await_all(struct tutti_dev_meeting *meeting)
{
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    tutti_dev_packets_send_word(&exchange, meeting->group, 0, 0);
    tutti_dev_packets_await(&exchange, meeting);
}

/* 1 if no thread has more than one packet of a message. */
TUTTI_DEV int tutti_dev_is_quick(int group, int members, size_t bytes)
{
    return bytes <= tutti_dev_size(group) * TUTTI_DEV_PACKET && members > 0 &&
           (bytes <= TUTTI_DEV_SURE || tutti_dev_has_room(members, bytes));
}

/* The own part, which no packet carries. */
TUTTI_DEV void tutti_dev_packets_keep(int group, void *dest, const void *source, unsigned bytes)
{
    const unsigned size = (unsigned)tutti_dev_size(group);
    const int words = (((unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source) & 7) == 0;
    unsigned i = (unsigned)tutti_dev_rank(group);
    if (dest == source)
        return;
    TUTTI_DEV_UNROLL_1
    for (; words && i + 3 * size < bytes / TUTTI_DEV_PACKET; i += 4 * size) { /* four loads before the first store */
        const tutti_dev_u64 *const from = (const tutti_dev_u64 *)source + i;
        tutti_dev_u64 *const to = (tutti_dev_u64 *)dest + i;
        const tutti_dev_u64 a = from[0], b = from[size], c = from[2 * size], d = from[3 * size];
        to[0] = a;
        to[size] = b;
        to[2 * size] = c;
        to[3 * size] = d;
    }
    TUTTI_DEV_UNROLL_1
    for (; i < tutti_dev_packets(bytes); i += size)
        tutti_dev_scatter((char *)dest + i * TUTTI_DEV_PACKET,
                          tutti_dev_gather((const char *)source + i * TUTTI_DEV_PACKET, tutti_dev_valid(bytes, i)),
                          tutti_dev_valid(bytes, i));
}

#endif
