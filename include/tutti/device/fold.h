/* Combines what an exchange has brought from all members (packets.h) with the own contribution, in order of PE. */
#ifndef TUTTI_DEVICE_FOLD_H
#define TUTTI_DEVICE_FOLD_H

/* Of reductions: what each PE gets. ALL: what is combined of all. THROUGH: up to its own contribution; BEFORE: up to
 * that before it, and zero the first one. BLOCKS: its own block of all. */
enum { TUTTI_DEV_ALL, TUTTI_DEV_THROUGH, TUTTI_DEV_BEFORE, TUTTI_DEV_BLOCKS };

/* What is folded, by value: see tutti_dev_job in reduce.h. */
struct tutti_dev_fold {
    struct tutti_dev_exchange exchange;
    const char *own;
    char *dest;
    unsigned bytes;
    int used; /* contributions of the first so many members are combined; all are waited for */
};

/* Begins to look at packet `number` of member `from`; the own one is made here. */
TUTTI_DEV void tutti_dev_fold_look(const struct tutti_dev_fold *fold, int from, unsigned number,
                                   struct tutti_dev_packet *packet)
{
    if (from == fold->exchange.team.me)
        *packet = tutti_dev_packet_of(
            tutti_dev_gather(fold->own + number * TUTTI_DEV_PACKET, tutti_dev_valid(fold->bytes, number)),
            fold->exchange.flag);
    else
        tutti_dev_load_pair(tutti_dev_packet_from(&fold->exchange, from, number), &packet->a, &packet->b);
}

/* A unit is as many whole elements as packets have. A thread goes through its units, and in each through the members;
 * it looks TUTTI_DEV_AHEAD contributions ahead. One contribution alone is handed on as it is; none is zero. */
#define TUTTI_DEV_FOLD(ID, number)                                                                                     \
    enum {                                                                                                             \
        TUTTI_DEV_WORDS_##ID = sizeof(tutti_dev_e_##ID) > TUTTI_DEV_PACKET ? 2 : 1,                                    \
        TUTTI_DEV_EACH_##ID = TUTTI_DEV_WORDS_##ID * TUTTI_DEV_PACKET / sizeof(tutti_dev_e_##ID)                       \
    };                                                                                                                 \
    typedef union {                                                                                                    \
        tutti_dev_u64 word[TUTTI_DEV_WORDS_##ID];                                                                      \
        tutti_dev_e_##ID e[TUTTI_DEV_EACH_##ID];                                                                       \
    } tutti_dev_unit_##ID;                                                                                             \
    TUTTI_DEV void tutti_dev_fold_##ID(const struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting, int op)   \
    {                                                                                                                  \
        enum { WORDS = TUTTI_DEV_WORDS_##ID, EACH = TUTTI_DEV_EACH_##ID };                                             \
        const int members = fold->exchange.team.size;                                                                  \
        const unsigned units = (tutti_dev_packets(fold->bytes) + WORDS - 1) / WORDS;                                   \
        const unsigned size = (unsigned)tutti_dev_size(meeting->group);                                                \
        unsigned unit = (unsigned)tutti_dev_rank(meeting->group), ahead = unit;                                        \
        int from = 0, ahead_from = 0;                                                                                  \
        struct tutti_dev_packet packet[TUTTI_DEV_AHEAD][WORDS];                                                        \
        tutti_dev_unit_##ID given = TUTTI_DEV_ZERO, result = given;                                                    \
        tutti_dev_a_##ID sum[EACH] = TUTTI_DEV_ZERO;                                                                   \
        int looked = 0;                                                                                                \
        TUTTI_DEV_UNROLL_1                                                                                             \
        while (unit < units) {                                                                                         \
            TUTTI_DEV_UNROLL                                                                                           \
            for (unsigned b = 0; b < TUTTI_DEV_AHEAD; b++) {                                                           \
                const int there = looked && unit < units;                                                              \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < WORDS; w++) {                                                                 \
                    if (there) {                                                                                       \
                        tutti_dev_packet_wait(meeting, tutti_dev_packet_from(&fold->exchange, from, WORDS *unit + w),  \
                                              &packet[b][w], fold->exchange.flag);                                     \
                        given.word[w] = tutti_dev_packet_data(&packet[b][w]);                                          \
                    }                                                                                                  \
                    if (ahead < units)                                                                                 \
                        tutti_dev_fold_look(fold, ahead_from, WORDS *ahead + w, &packet[b][w]);                        \
                }                                                                                                      \
                ahead += ++ahead_from == members ? size : 0;                                                           \
                ahead_from = ahead_from == members ? 0 : ahead_from;                                                   \
                if (!there)                                                                                            \
                    continue;                                                                                          \
                result = from == 0 ? given : result;                                                                   \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++) {                                                                  \
                    const tutti_dev_a_##ID next = tutti_dev_load_##ID(given.e[i]);                                     \
                    if (from == 0)                                                                                     \
                        sum[i] = next;                                                                                 \
                    else if (from < fold->used)                                                                        \
                        sum[i] = tutti_dev_combine_##ID(op, sum[i], next);                                             \
                }                                                                                                      \
                if (++from < members)                                                                                  \
                    continue;                                                                                          \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++) {                                                                  \
                    if (fold->used > 1)                                                                                \
                        result.e[i] = tutti_dev_store_##ID(sum[i], 1);                                                 \
                }                                                                                                      \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < WORDS; w++)                                                                   \
                    tutti_dev_scatter(fold->dest + (WORDS * unit + w) * TUTTI_DEV_PACKET,                              \
                                      fold->used > 0 ? result.word[w] : 0,                                             \
                                      tutti_dev_valid(fold->bytes, WORDS * unit + w));                                 \
                from = 0;                                                                                              \
                unit += size;                                                                                          \
            }                                                                                                          \
            looked = 1;                                                                                                \
        }                                                                                                              \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_FOLD)
#undef TUTTI_DEV_FOLD

/* Where no thread has more than one unit: it sends and combines that, which it has read once, whatever becomes of
 * `source`: so nobody waits for other threads between. */
struct tutti_dev_quick {
    struct tutti_dev_exchange exchange;
    const char *source; /* the unit's, in the first block */
    unsigned step, bytes, first; /* first: packet */
};

enum { TUTTI_DEV_BESIDE = 4 }; /* contributions that are looked at at once */
#define TUTTI_DEV_QUICK(ID, number)                                                                                    \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_quick_read_##ID(const char *source, unsigned bytes, unsigned first)        \
    {                                                                                                                  \
        tutti_dev_unit_##ID unit;                                                                                      \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            unit.word[w] = tutti_dev_gather(source + w * TUTTI_DEV_PACKET, tutti_dev_valid(bytes, first + w));         \
        return unit;                                                                                                   \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_quick_send_##ID(const struct tutti_dev_quick *q, tutti_dev_unit_##ID own, unsigned i)     \
    {                                                                                                                  \
        const int to = tutti_dev_behind(&q->exchange.team, i);                                                         \
        char *const there = tutti_dev_packet_to(&q->exchange, to, q->first);                                           \
        if (q->step != 0)                                                                                              \
            own = tutti_dev_quick_read_##ID(q->source + (unsigned)to * q->step, q->bytes, q->first);                   \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                          \
            const struct tutti_dev_packet packet = tutti_dev_packet_of(own.word[w], q->exchange.flag);                 \
            tutti_dev_store_pair(there + 16 * w, packet.a, packet.b);                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    /* Of two members. */                                                                                              \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_quick_pair_##ID(                                                           \
        const struct tutti_dev_quick *q, struct tutti_dev_meeting *meeting, tutti_dev_unit_##ID own, int op, int used) \
    {                                                                                                                  \
        const int me = meeting->team.me;                                                                               \
        const char *const from = tutti_dev_packet_from(&q->exchange, 1 - me, q->first);                                \
        struct tutti_dev_packet packet[TUTTI_DEV_WORDS_##ID];                                                          \
        tutti_dev_unit_##ID given, low, high;                                                                          \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            tutti_dev_load_pair(from + 16 * w, &packet[w].a, &packet[w].b);                                            \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                          \
            tutti_dev_packet_wait(meeting, from + 16 * w, &packet[w], q->exchange.flag);                               \
            given.word[w] = tutti_dev_packet_data(&packet[w]);                                                         \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                          \
            low.word[w] = me == 0 ? own.word[w] : given.word[w];                                                       \
            high.word[w] = me == 0 ? given.word[w] : own.word[w];                                                      \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned i = 0; i < TUTTI_DEV_EACH_##ID && used > 1; i++)                                                 \
            low.e[i] = tutti_dev_store_##ID(tutti_dev_combine_##ID(op, tutti_dev_load_##ID(low.e[i]),                  \
                                                                   tutti_dev_load_##ID(high.e[i])),                    \
                                            1);                                                                        \
        return low;                                                                                                    \
    }                                                                                                                  \
    /* Of any number. */                                                                                               \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_quick_all_##ID(                                                            \
        const struct tutti_dev_quick *q, struct tutti_dev_meeting *meeting, tutti_dev_unit_##ID own, int op, int used) \
    {                                                                                                                  \
        enum { WORDS = TUTTI_DEV_WORDS_##ID, EACH = TUTTI_DEV_EACH_##ID };                                             \
        const int members = meeting->team.size, me = meeting->team.me;                                                 \
        tutti_dev_unit_##ID given, result = own;                                                                       \
        tutti_dev_a_##ID sum[EACH] = TUTTI_DEV_ZERO;                                                                   \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (int begin = 0; begin < members; begin += TUTTI_DEV_BESIDE) {                                              \
            struct tutti_dev_packet packet[TUTTI_DEV_BESIDE][WORDS];                                                   \
            TUTTI_DEV_UNROLL                                                                                           \
            for (int b = 0; b < TUTTI_DEV_BESIDE && begin + b < members; b++) {                                        \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < WORDS && begin + b != me; w++)                                                \
                    tutti_dev_load_pair(tutti_dev_packet_from(&q->exchange, begin + b, q->first + w), &packet[b][w].a, \
                                        &packet[b][w].b);                                                              \
            }                                                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (int b = 0; b < TUTTI_DEV_BESIDE && begin + b < members; b++) {                                        \
                given = own;                                                                                           \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < WORDS && begin + b != me; w++) {                                              \
                    tutti_dev_packet_wait(meeting, tutti_dev_packet_from(&q->exchange, begin + b, q->first + w),       \
                                          &packet[b][w], q->exchange.flag);                                            \
                    given.word[w] = tutti_dev_packet_data(&packet[b][w]);                                              \
                }                                                                                                      \
                result = begin + b == 0 ? given : result;                                                              \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++) {                                                                  \
                    const tutti_dev_a_##ID next = tutti_dev_load_##ID(given.e[i]);                                     \
                    if (begin + b == 0)                                                                                \
                        sum[i] = next;                                                                                 \
                    else if (begin + b < used)                                                                         \
                        sum[i] = tutti_dev_combine_##ID(op, sum[i], next);                                             \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned i = 0; i < EACH && used > 1; i++)                                                                \
            result.e[i] = tutti_dev_store_##ID(sum[i], 1);                                                             \
        return result;                                                                                                 \
    }                                                                                                                  \
    /* 0: nothing has been done, for the packets are to be renewed. */                                                 \
    TUTTI_DEV int tutti_dev_quick_##ID(struct tutti_dev_meeting *meeting, char *dest, const char *source,              \
                                       unsigned step, unsigned bytes, int op, int used)                                \
    {                                                                                                                  \
        const unsigned first = TUTTI_DEV_WORDS_##ID * (unsigned)tutti_dev_rank(meeting->group);                        \
        if (first >= tutti_dev_packets(bytes))                                                                         \
            return tutti_dev_goes_on(meeting);                                                                         \
        struct tutti_dev_quick q;                                                                                      \
        q.source = source + first * TUTTI_DEV_PACKET;                                                                  \
        q.step = step;                                                                                                 \
        q.bytes = bytes;                                                                                               \
        q.first = first;                                                                                               \
        const tutti_dev_unit_##ID own =                                                                                \
            tutti_dev_quick_read_##ID(q.source + (unsigned)meeting->team.me * step, bytes, first);                     \
        if (!tutti_dev_goes_on(meeting))                                                                               \
            return 0;                                                                                                  \
        q.exchange = tutti_dev_exchange(meeting);                                                                      \
        tutti_dev_unit_##ID result;                                                                                    \
        if (meeting->team.size == 2) {                                                                                 \
            tutti_dev_quick_send_##ID(&q, own, 1);                                                                     \
            result = tutti_dev_quick_pair_##ID(&q, meeting, own, op, used);                                            \
        } else {                                                                                                       \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (unsigned i = 1; i < (unsigned)meeting->team.size; i++)                                                \
                tutti_dev_quick_send_##ID(&q, own, i);                                                                 \
            result = tutti_dev_quick_all_##ID(&q, meeting, own, op, used);                                             \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            tutti_dev_scatter(dest + (first + w) * TUTTI_DEV_PACKET, used > 0 ? result.word[w] : 0,                    \
                              tutti_dev_valid(bytes, first + w));                                                      \
        return 1;                                                                                                      \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_QUICK)
#undef TUTTI_DEV_QUICK

/* type, op: constants, so that one of these remains. */
TUTTI_DEV int tutti_dev_quick(struct tutti_dev_meeting *meeting, void *dest, const void *source, unsigned step,
                              unsigned bytes, int type, int op, int used)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return tutti_dev_quick_##ID(meeting, (char *)dest, (const char *)source, step, bytes, op, used);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return 0;
    }
}

/* type, op: constants, so that one of these remains. */
TUTTI_DEV void tutti_dev_fold(const struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting, int type, int op)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        tutti_dev_fold_##ID(fold, meeting, op);                                                                        \
        break;
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        break;
    }
}

/* An exchange of `bytes` bytes from source + member * step, and its fold into dest, which may be source. */
TUTTI_DEV int tutti_dev_reduce_small(struct tutti_dev_meeting *meeting, void *dest, const void *source, unsigned step,
                                     unsigned bytes, int type, int op, int used)
{
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    const struct tutti_dev_fold fold = {exchange, (const char *)source + (unsigned)meeting->team.me * step,
                                        (char *)dest, bytes, used};
    tutti_dev_packets_send(&exchange, meeting->group, source, step, bytes, 0);
    tutti_dev_join(meeting->group); /* nobody stores before all threads have sent */
    if (bytes == 0)
        tutti_dev_packets_hear(&exchange, meeting);
    else
        tutti_dev_fold(&fold, meeting, type, op);
    return tutti_dev_end(meeting);
}

#endif
