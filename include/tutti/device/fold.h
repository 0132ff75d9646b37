/* Combines what an exchange has brought from all members (packets.h) with the own contribution, in order of PE. */
#ifndef TUTTI_DEVICE_FOLD_H
#define TUTTI_DEVICE_FOLD_H

/* Of reductions: what each PE gets. ALL: what is combined of all. THROUGH: up to its own contribution; BEFORE: up to
 * that before it, and zero the first one. BLOCKS: its own block of all. */
enum { TUTTI_DEV_ALL, TUTTI_DEV_THROUGH, TUTTI_DEV_BEFORE, TUTTI_DEV_BLOCKS };

/* A unit is as many whole elements as packets have. A thread has every size'th unit: it alone reads, sends, combines
 * and stores it, in this order. So no thread waits for others, even if dest is source. */
#define TUTTI_DEV_UNIT(ID, number)                                                                                     \
    enum {                                                                                                             \
        TUTTI_DEV_WORDS_##ID = sizeof(tutti_dev_e_##ID) > TUTTI_DEV_PACKET ? 2 : 1,                                    \
        TUTTI_DEV_EACH_##ID = TUTTI_DEV_WORDS_##ID * TUTTI_DEV_PACKET / sizeof(tutti_dev_e_##ID)                       \
    };                                                                                                                 \
    typedef union {                                                                                                    \
        tutti_dev_u64 word[TUTTI_DEV_WORDS_##ID];                                                                      \
        tutti_dev_e_##ID e[TUTTI_DEV_EACH_##ID];                                                                       \
    } tutti_dev_unit_##ID;
TUTTI_DEV_TYPES(TUTTI_DEV_UNIT)
#undef TUTTI_DEV_UNIT

/* What is folded, by value: see tutti_dev_job in reduce.h. */
struct tutti_dev_fold {
    struct tutti_dev_exchange exchange;
    const char *source; /* from `step` bytes to `step` bytes what goes to each member */
    char *dest;
    unsigned step, bytes;
    int used; /* contributions of the first so many members are combined; all are waited for */
};

enum { TUTTI_DEV_BESIDE = 4 }; /* contributions that are looked at at once */
#define TUTTI_DEV_FOLD(ID, number)                                                                                     \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_fold_read_##ID(const struct tutti_dev_fold *fold, int member,              \
                                                           unsigned first)                                             \
    {                                                                                                                  \
        const char *const from = fold->source + ((unsigned)member * fold->step + first * TUTTI_DEV_PACKET);            \
        tutti_dev_unit_##ID unit;                                                                                      \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            unit.word[w] = tutti_dev_gather(from + w * TUTTI_DEV_PACKET, tutti_dev_valid(fold->bytes, first + w));     \
        return unit;                                                                                                   \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_fold_send_##ID(const struct tutti_dev_fold *fold, tutti_dev_unit_##ID own,                \
                                            unsigned first)                                                            \
    {                                                                                                                  \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (unsigned i = 1; i < (unsigned)fold->exchange.team.size; i++) {                                            \
            const int to = tutti_dev_behind(&fold->exchange.team, i);                                                  \
            char *const there = tutti_dev_packet_to(&fold->exchange, to, first);                                       \
            if (fold->step != 0)                                                                                       \
                own = tutti_dev_fold_read_##ID(fold, to, first);                                                       \
            TUTTI_DEV_UNROLL                                                                                           \
            for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                      \
                const struct tutti_dev_packet packet = tutti_dev_packet_of(own.word[w], fold->exchange.flag);          \
                tutti_dev_store_pair(there + 16 * w, packet.a, packet.b);                                              \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* Of two members. */                                                                                              \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_fold_pair_##ID(const struct tutti_dev_fold *fold,                          \
                                                           struct tutti_dev_meeting *meeting, tutti_dev_unit_##ID own, \
                                                           unsigned first, int op)                                     \
    {                                                                                                                  \
        const int me = meeting->team.me;                                                                               \
        const char *const from = tutti_dev_packet_from(&fold->exchange, 1 - me, first);                                \
        struct tutti_dev_packet packet[TUTTI_DEV_WORDS_##ID];                                                          \
        tutti_dev_unit_##ID given, low, high;                                                                          \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            tutti_dev_load_pair(from + 16 * w, &packet[w].a, &packet[w].b);                                            \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                          \
            tutti_dev_packet_wait(meeting, 1 - me, from + 16 * w, &packet[w], fold->exchange.flag);                    \
            given.word[w] = tutti_dev_packet_data(&packet[w]);                                                         \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++) {                                                          \
            low.word[w] = me == 0 ? own.word[w] : given.word[w];                                                       \
            high.word[w] = me == 0 ? given.word[w] : own.word[w];                                                      \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned i = 0; i < TUTTI_DEV_EACH_##ID && fold->used > 1; i++)                                           \
            low.e[i] = tutti_dev_store_##ID(                                                                           \
                tutti_dev_combine_##ID(op, tutti_dev_load_##ID(low.e[i]), tutti_dev_load_##ID(high.e[i])), 1);         \
        return low;                                                                                                    \
    }                                                                                                                  \
    /* Of any number. */                                                                                               \
    TUTTI_DEV tutti_dev_unit_##ID tutti_dev_fold_all_##ID(const struct tutti_dev_fold *fold,                           \
                                                          struct tutti_dev_meeting *meeting, tutti_dev_unit_##ID own,  \
                                                          unsigned first, int op)                                      \
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
                    tutti_dev_load_pair(tutti_dev_packet_from(&fold->exchange, begin + b, first + w), &packet[b][w].a, \
                                        &packet[b][w].b);                                                              \
            }                                                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (int b = 0; b < TUTTI_DEV_BESIDE && begin + b < members; b++) {                                        \
                given = own;                                                                                           \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < WORDS && begin + b != me; w++) {                                              \
                    tutti_dev_packet_wait(meeting, begin + b,                                                          \
                                          tutti_dev_packet_from(&fold->exchange, begin + b, first + w), &packet[b][w], \
                                          fold->exchange.flag);                                                        \
                    given.word[w] = tutti_dev_packet_data(&packet[b][w]);                                              \
                }                                                                                                      \
                result = begin + b == 0 ? given : result;                                                              \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++) {                                                                  \
                    const tutti_dev_a_##ID next = tutti_dev_load_##ID(given.e[i]);                                     \
                    if (begin + b == 0)                                                                                \
                        sum[i] = next;                                                                                 \
                    else if (begin + b < fold->used)                                                                   \
                        sum[i] = tutti_dev_combine_##ID(op, sum[i], next);                                             \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned i = 0; i < EACH && fold->used > 1; i++)                                                          \
            result.e[i] = tutti_dev_store_##ID(sum[i], 1);                                                             \
        return result;                                                                                                 \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_fold_take_##ID(const struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting,      \
                                            tutti_dev_unit_##ID own, unsigned first, int op)                           \
    {                                                                                                                  \
        const tutti_dev_unit_##ID result = meeting->team.size == 2                                                     \
                                               ? tutti_dev_fold_pair_##ID(fold, meeting, own, first, op)               \
                                               : tutti_dev_fold_all_##ID(fold, meeting, own, first, op);               \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_WORDS_##ID; w++)                                                            \
            tutti_dev_scatter(fold->dest + (first + w) * TUTTI_DEV_PACKET, fold->used > 0 ? result.word[w] : 0,        \
                              tutti_dev_valid(fold->bytes, first + w));                                                \
    }                                                                                                                  \
    /* Where no thread has more than one unit, which it reads once. 0: nothing has been done, for the packets are to   \
     * be renewed. */                                                                                                  \
    TUTTI_DEV int tutti_dev_fold_quick_##ID(struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting, int op)    \
    {                                                                                                                  \
        const unsigned first = TUTTI_DEV_WORDS_##ID * (unsigned)tutti_dev_rank(meeting->group);                        \
        tutti_dev_ask(meeting);                                                                                        \
        if (first >= tutti_dev_packets(fold->bytes))                                                                   \
            return tutti_dev_goes_on(meeting);                                                                         \
        const tutti_dev_unit_##ID own = tutti_dev_fold_read_##ID(fold, meeting->team.me, first);                       \
        if (!tutti_dev_goes_on(meeting))                                                                               \
            return 0;                                                                                                  \
        fold->exchange = tutti_dev_exchange(meeting);                                                                  \
        tutti_dev_fold_send_##ID(fold, own, first);                                                                    \
        tutti_dev_fold_take_##ID(fold, meeting, own, first, op);                                                       \
        return 1;                                                                                                      \
    }                                                                                                                  \
    /* Units of one word from number n on, `size` apart, TUTTI_DEV_BESIDE of them, of two members: all are loaded      \
     * before the first is combined. 0: one of them has not arrived, and nothing is stored. */                         \
    TUTTI_DEV int tutti_dev_fold_some_##ID(const struct tutti_dev_fold *fold, int me, unsigned n, unsigned size,       \
                                           int op)                                                                     \
    {                                                                                                                  \
        const tutti_dev_u64 *const from =                                                                              \
            (const tutti_dev_u64 *)(const void *)(fold->source + (unsigned)me * fold->step) + n;                       \
        tutti_dev_u64 *const to = (tutti_dev_u64 *)(void *)fold->dest + n;                                             \
        const char *const slot = tutti_dev_packet_from(&fold->exchange, 1 - me, n);                                    \
        struct tutti_dev_packet packet[TUTTI_DEV_BESIDE];                                                              \
        tutti_dev_unit_##ID own[TUTTI_DEV_BESIDE], given, low, high;                                                   \
        int there = 1;                                                                                                 \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned b = 0; b < TUTTI_DEV_BESIDE; b++) {                                                              \
            packet[b] = tutti_dev_packet_load(slot + b * size * 16);                                                   \
            own[b].word[0] = from[b * size];                                                                           \
        }                                                                                                              \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned b = 0; b < TUTTI_DEV_BESIDE; b++)                                                                \
            there &= tutti_dev_packet_there(&packet[b], fold->exchange.flag);                                          \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned b = 0; b < TUTTI_DEV_BESIDE && there; b++) {                                                     \
            given.word[0] = tutti_dev_packet_data(&packet[b]);                                                         \
            low = me == 0 ? own[b] : given;                                                                            \
            high = me == 0 ? given : own[b];                                                                           \
            TUTTI_DEV_UNROLL                                                                                           \
            for (unsigned i = 0; i < TUTTI_DEV_EACH_##ID && fold->used > 1; i++)                                       \
                low.e[i] = tutti_dev_store_##ID(                                                                       \
                    tutti_dev_combine_##ID(op, tutti_dev_load_##ID(low.e[i]), tutti_dev_load_##ID(high.e[i])), 1);     \
            to[b * size] = low.word[0];                                                                                \
        }                                                                                                              \
        return there;                                                                                                  \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_fold_##ID(struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting, int op)         \
    {                                                                                                                  \
        const unsigned packets = tutti_dev_packets(fold->bytes), size = (unsigned)tutti_dev_size(meeting->group);      \
        const unsigned begin = TUTTI_DEV_WORDS_##ID * (unsigned)tutti_dev_rank(meeting->group);                        \
        const unsigned step = TUTTI_DEV_WORDS_##ID * size;                                                             \
        const unsigned mixed = (unsigned)(uintptr_t)fold->source | (unsigned)(uintptr_t)fold->dest | fold->step;       \
        const int some = TUTTI_DEV_WORDS_##ID == 1 && meeting->team.size == 2 && fold->used > 0 && mixed % 8 == 0;     \
        fold->exchange = tutti_dev_exchange(meeting);                                                                  \
        if (TUTTI_DEV_WORDS_##ID == 1) /* a thread sends the units that it combines */                                 \
            tutti_dev_packets_send(&fold->exchange, meeting->group, fold->source, fold->step, fold->bytes, 0, NULL);   \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (unsigned first = begin; TUTTI_DEV_WORDS_##ID > 1 && first < packets; first += step)                       \
            tutti_dev_fold_send_##ID(fold, tutti_dev_fold_read_##ID(fold, meeting->team.me, first), first);            \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (unsigned first = begin; first < packets; first += step) {                                                 \
            if (some && first + (TUTTI_DEV_BESIDE - 1) * size < fold->bytes / TUTTI_DEV_PACKET &&                      \
                tutti_dev_fold_some_##ID(fold, meeting->team.me, first, size, op))                                     \
                first += (TUTTI_DEV_BESIDE - 1) * size;                                                                \
            else                                                                                                       \
                tutti_dev_fold_take_##ID(fold, meeting, tutti_dev_fold_read_##ID(fold, meeting->team.me, first),       \
                                         first, op);                                                                   \
        }                                                                                                              \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_FOLD)
#undef TUTTI_DEV_FOLD

/* quick: 1 if tutti_dev_is_quick(), then 0: nothing has been done. type, op, quick: constants, so that one of these
 * remains. */
TUTTI_DEV int tutti_dev_fold(struct tutti_dev_fold *fold, struct tutti_dev_meeting *meeting, int type, int op,
                             int quick)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        if (quick)                                                                                                     \
            return tutti_dev_fold_quick_##ID(fold, meeting, op);                                                       \
        tutti_dev_fold_##ID(fold, meeting, op);                                                                        \
        return 1;
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return 0;
    }
}

#endif
