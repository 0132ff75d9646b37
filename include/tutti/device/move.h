/* Collectives that move data. Small ones are an exchange of packets (packets.h). Larger ones: each PE stores its blocks
 * into the others' results, between two meetings: the first says that the results may be stored over. PEs begin with
 * themselves and go round, so that not all store to one at once. Teams with far members: far_move.h. */
#ifndef TUTTI_DEVICE_MOVE_H
#define TUTTI_DEVICE_MOVE_H

/* Members without data send an empty packet. Only if tutti_dev_is_quick(). 0: nothing has been done, since the packets
 * must be renewed first. */
TUTTI_DEV int tutti_dev_broadcast_few(struct tutti_dev_meeting *meeting, void *dest, const void *source, unsigned bytes,
                                      int root)
{
    const unsigned each = bytes > 0 ? tutti_dev_packets(bytes) : 1, members = (unsigned)meeting->team.size;
    const struct tutti_dev_deal deal = tutti_dev_deal(meeting->group, each);
    tutti_dev_ask(meeting);
    const int is_root = meeting->team.me == root, has_part = is_root && deal.lane < members;
    const unsigned at = deal.number * TUTTI_DEV_PACKET, valid = tutti_dev_valid(bytes, deal.number);
    const tutti_dev_u64 data = has_part ? tutti_dev_gather((const char *)source + at, valid) : 0;
    if (!tutti_dev_goes_on(meeting))
        return 0;
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    const struct tutti_dev_packet packet = tutti_dev_packet_of(data, exchange.flag);
    if (is_root) {
        TUTTI_DEV_UNROLL_1
        for (unsigned i = deal.lane + 1; i < members; i += deal.lanes)
            tutti_dev_store_pair(tutti_dev_packet_to(&exchange, tutti_dev_behind(&exchange.team, i), deal.number),
                                 packet.a, packet.b);
        if (has_part && deal.lane == 0 && dest != source)
            tutti_dev_scatter((char *)dest + at, data, valid);
    } else {
        tutti_dev_packets_send_word(&exchange, meeting->group, 0, 0);
        tutti_dev_packets_recv_few(&exchange, meeting, &deal, dest, 0, bytes, root, 1);
    }
    if (is_root || members > 2)
        tutti_dev_packets_await(&exchange, meeting);
    return 1;
}

TUTTI_DEV void tutti_dev_broadcast_small(struct tutti_dev_meeting *meeting, void *dest, const void *source,
                                         size_t bytes, int root)
{
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    const int is_root = meeting->team.me == root;
    if (is_root) {
        tutti_dev_packets_send(&exchange, meeting->group, source, 0, (unsigned)bytes, 0, dest == source ? NULL : dest);
        if (meeting->team.size == 1)
            tutti_dev_packets_keep(meeting->group, dest, source, (unsigned)bytes);
    } else {
        tutti_dev_packets_send_word(&exchange, meeting->group, 0, 0);
        tutti_dev_packets_recv(&exchange, meeting, dest, 0, (unsigned)bytes, root, 1, 0);
    }
    if (is_root || meeting->team.size > 2)
        tutti_dev_packets_await(&exchange, meeting);
}

/* A collective that is not quick, from its beginning on; entered: from past tutti_dev_begin_short(), whose cause it
 * gets.
 */
TUTTI_DEV int tutti_dev_broadcast_rest(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                       int root, int entered, uint32_t cause)
{
    struct tutti_dev_meeting meeting;
    if (tutti_dev_is_far(team))
        return tutti_dev_far_broadcast(group, team, dest, source, bytes, root);
    if (entered) {
        meeting = tutti_dev_resume(TSHMEM_KERNEL_BROADCAST, group, team, 0, cause);
    } else {
        const int status =
            tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_BROADCAST, group, team, dest, bytes, source, bytes);
        if (status != TUTTI_DEV_OK)
            return status;
    }
    tutti_dev_ask(&meeting);
    if (tutti_dev_is_small(&meeting, bytes)) {
        tutti_dev_broadcast_small(&meeting, dest, source, bytes, root);
        return tutti_dev_end(&meeting);
    }
    tutti_dev_meet_first(&meeting);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < meeting.team.size && meeting.team.me == root; i++) {
        char *const to = tutti_dev_of(&meeting, dest, tutti_dev_behind(&meeting.team, (unsigned)i));
        if (to != (const char *)source)
            tutti_dev_copy(group, to, source, bytes);
    }
    return tutti_dev_meet_last(&meeting);
}
TUTTI_DEV_APART_GROUPS(tutti_dev_broadcast_rest,
                       (tshmem_team_t team, void *dest, const void *source, size_t bytes, int root, int entered,
                        uint32_t cause),
                       team, dest, source, bytes, root, entered, cause)

TUTTI_DEV int tutti_dev_broadcast(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    struct tutti_dev_meeting meeting;
    const int members = tutti_dev_team_n_pes(team);
    if (members > 0 && (root < 0 || root >= members)) {
        tutti_dev_refuse(TSHMEM_KERNEL_BROADCAST, TSHMEM_WHY_NO_ROOT, root, team, 0, 0);
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    if (tutti_dev_is_far(team) || !tutti_dev_is_quick(group, members, bytes))
        return TUTTI_DEV_OF_GROUP(tutti_dev_broadcast_rest, group, team, dest, source, bytes, root, 0, 0);
    const int status =
        tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_BROADCAST, group, team, dest, bytes, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    return tutti_dev_broadcast_few(&meeting, dest, source, (unsigned)bytes, root)
               ? tutti_dev_free(&meeting)
               : TUTTI_DEV_OF_GROUP(tutti_dev_broadcast_rest, group, team, dest, source, bytes, root, 1, meeting.cause);
}

/* Each PE brings as much as it likes. Packet 0 has the number of bytes, the next ones the bytes, where they are few.
 * Where all have brought few, that was all. */
TUTTI_DEV int tutti_dev_collect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    if (tutti_dev_is_far(team))
        return tutti_dev_far_collect(group, team, dest, source, bytes);
    const int status = tutti_dev_begin(&meeting, TSHMEM_KERNEL_COLLECT, group, team, dest, 0, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting.team.size, me = meeting.team.me;
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(&meeting);
    size_t at = 0, all = 0;
    int small = 1; /* alike on all PEs */
    tutti_dev_packets_send_word(&exchange, group, bytes, 0);
    if (bytes > 0 && tutti_dev_is_small(&meeting, bytes + TUTTI_DEV_PACKET))
        tutti_dev_packets_send(&exchange, group, source, 0, (unsigned)bytes, 1, NULL);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < members; i++) {
        tutti_dev_u64 told = bytes;
        if (i != me)
            tutti_dev_packets_one(&exchange, &meeting, i, &told);
        at = i == me ? all : at;
        all += (size_t)told;
        small &= tutti_dev_is_small(&meeting, (size_t)told + TUTTI_DEV_PACKET);
    }
    meeting.failed = tutti_dev_sync(group, meeting.failed);
    if (meeting.failed || !tutti_dev_symmetric(dest, all)) {
        if (!meeting.failed)
            tutti_dev_refuse(TSHMEM_KERNEL_COLLECT, TSHMEM_WHY_NOT_SYMMETRIC, -1, team, (uint64_t)(uintptr_t)dest, all);
        meeting.failed = 1; /* on all PEs alike */
        return tutti_dev_end(&meeting);
    }
    if (!small) {
        tutti_dev_meet(&meeting);
        for (int i = 0; i < members; i++)
            tutti_dev_copy(group, tutti_dev_of(&meeting, dest, (me + i) % members) + at, source, bytes);
        return tutti_dev_meet_last(&meeting);
    }
    tutti_dev_packets_keep(group, (char *)dest + at, source, (unsigned)bytes);
    at = 0;
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < members; i++) {
        tutti_dev_u64 told = bytes;
        if (i != me) {
            tutti_dev_packets_one(&exchange, &meeting, i, &told);
            tutti_dev_packets_recv(&exchange, &meeting, (char *)dest + at, 0, (unsigned)told, i, told > 0, 1);
        }
        at += (size_t)told;
    }
    return tutti_dev_end(&meeting);
}

/* Blocks of `bytes` bytes from source + member * step; those of the members are stored to dest, one behind the other.
 * Where tutti_dev_is_quick(); 0: nothing has been done, for the packets are to be renewed. */
TUTTI_DEV int tutti_dev_exchange_few(struct tutti_dev_meeting *meeting, void *dest, const void *source, unsigned step,
                                     unsigned bytes)
{
    const unsigned each = bytes > 0 ? tutti_dev_packets(bytes) : 1, members = (unsigned)meeting->team.size;
    const int me = meeting->team.me, first = tutti_dev_behind(&meeting->team, 1);
    tutti_dev_ask(meeting);
    const struct tutti_dev_deal deal = tutti_dev_deal(meeting->group, each);
    const unsigned at = deal.number * TUTTI_DEV_PACKET, valid = tutti_dev_valid(bytes, deal.number);
    const char *const from = (const char *)source + at;
    char *const mine = (char *)dest + (unsigned)me * bytes + at;
    const int has_part = deal.lane < members;
    const tutti_dev_u64 own = has_part ? tutti_dev_gather(from + (unsigned)me * step, valid) : 0;
    if (!tutti_dev_goes_on(meeting))
        return 0;
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    TUTTI_DEV_UNROLL_1
    for (unsigned i = deal.lane + 1; i < members; i += deal.lanes) {
        const int to = tutti_dev_behind(&exchange.team, i);
        const struct tutti_dev_packet packet =
            tutti_dev_packet_of(step == 0 ? own : tutti_dev_gather(from + (unsigned)to * step, valid), exchange.flag);
        tutti_dev_store_pair(tutti_dev_packet_to(&exchange, to, deal.number), packet.a, packet.b);
    }
    if (has_part && deal.lane == 0 && mine != from + (unsigned)me * step)
        tutti_dev_scatter(mine, own, valid);
    tutti_dev_packets_recv_few(&exchange, meeting, &deal, dest, bytes, bytes, first, members - 1);
    return 1;
}

TUTTI_DEV int tutti_dev_exchange_small(struct tutti_dev_meeting *meeting, void *dest, const void *source, size_t step,
                                       size_t bytes)
{
    const struct tutti_dev_exchange exchange = tutti_dev_exchange(meeting);
    const int me = meeting->team.me, group = meeting->group, first = tutti_dev_behind(&meeting->team, 1);
    const unsigned others = (unsigned)meeting->team.size - 1, all = (unsigned)bytes;
    char *const own = (char *)dest + (size_t)me * bytes;
    const char *const mine = (const char *)source + (size_t)me * step;
    const int keeps = step == 0 && others > 0; /* what goes to the others is the own part, too */
    tutti_dev_packets_send(&exchange, group, source, (unsigned)step, all, 0, keeps && own != mine ? own : NULL);
    if (!keeps)
        tutti_dev_packets_keep(group, own, mine, all);
    tutti_dev_packets_recv(&exchange, meeting, dest, all, all, first, others, 0);
    return tutti_dev_end(meeting);
}

/* The long way: from source + member * step to that member's result, by all members. */
TUTTI_DEV int tutti_dev_exchange_long(struct tutti_dev_meeting *meeting, void *dest, const void *source, size_t step,
                                      size_t bytes)
{
    const size_t at = (size_t)meeting->team.me * bytes;
    tutti_dev_meet_first(meeting);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < meeting->team.size; i++) {
        const int to = tutti_dev_behind(&meeting->team, (unsigned)i);
        tutti_dev_copy(meeting->group, tutti_dev_of(meeting, dest, to) + at, (const char *)source + (size_t)to * step,
                       bytes);
    }
    return tutti_dev_meet_last(meeting);
}

/* See tutti_dev_broadcast_rest(). */
TUTTI_DEV int tutti_dev_fcollect_rest(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                      int entered, uint32_t cause)
{
    struct tutti_dev_meeting meeting;
    if (tutti_dev_is_far(team))
        return tutti_dev_far_fcollect(group, team, dest, source, bytes);
    if (entered) {
        meeting = tutti_dev_resume(TSHMEM_KERNEL_FCOLLECT, group, team, 0, cause);
    } else {
        const int members = tutti_dev_team_n_pes(team);
        const int status = tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_FCOLLECT, group, team, dest,
                                                 bytes * (size_t)(members > 0 ? members : 0), source, bytes);
        if (status != TUTTI_DEV_OK)
            return status;
    }
    tutti_dev_ask(&meeting);
    return tutti_dev_is_small(&meeting, bytes) ? tutti_dev_exchange_small(&meeting, dest, source, 0, bytes)
                                               : tutti_dev_exchange_long(&meeting, dest, source, 0, bytes);
}
TUTTI_DEV_APART_GROUPS(tutti_dev_fcollect_rest,
                       (tshmem_team_t team, void *dest, const void *source, size_t bytes, int entered, uint32_t cause),
                       team, dest, source, bytes, entered, cause)

TUTTI_DEV int tutti_dev_fcollect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int members = tutti_dev_team_n_pes(team);
    if (tutti_dev_is_far(team) || !tutti_dev_is_quick(group, members, bytes))
        return TUTTI_DEV_OF_GROUP(tutti_dev_fcollect_rest, group, team, dest, source, bytes, 0, 0);
    const int status = tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_FCOLLECT, group, team, dest,
                                             bytes * (size_t)members, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    return tutti_dev_exchange_few(&meeting, dest, source, 0, (unsigned)bytes)
               ? tutti_dev_free(&meeting)
               : TUTTI_DEV_OF_GROUP(tutti_dev_fcollect_rest, group, team, dest, source, bytes, 1, meeting.cause);
}

/* See tutti_dev_broadcast_rest(). */
TUTTI_DEV int tutti_dev_alltoalls_rest(int group, tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                       ptrdiff_t sst, size_t n, size_t bytes, int entered, uint32_t cause)
{
    struct tutti_dev_meeting meeting;
    const int even = dst == 1 && sst == 1;
    if (tutti_dev_is_far(team))
        return tutti_dev_far_alltoalls(group, team, dest, source, dst, sst, n, bytes);
    if (entered) {
        meeting = tutti_dev_resume(TSHMEM_KERNEL_ALLTOALL, group, team, 0, cause);
    } else {
        const int members = tutti_dev_team_n_pes(team);
        const size_t all = n * (size_t)(members > 0 ? members : 0);
        const size_t dest_bytes = all ? ((all - 1) * (size_t)dst + 1) * bytes : 0;
        const size_t source_bytes = all ? ((all - 1) * (size_t)sst + 1) * bytes : 0;
        const int status = tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_ALLTOALL, group, team, dest, dest_bytes,
                                                 source, source_bytes);
        if (status != TUTTI_DEV_OK)
            return status;
    }
    tutti_dev_ask(&meeting);
    if (even)
        return tutti_dev_is_small(&meeting, n * bytes)
                   ? tutti_dev_exchange_small(&meeting, dest, source, n * bytes, n * bytes)
                   : tutti_dev_exchange_long(&meeting, dest, source, n * bytes, n * bytes);
    tutti_dev_meet_first(&meeting);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < meeting.team.size; i++) {
        const int to = tutti_dev_behind(&meeting.team, (unsigned)i);
        tutti_dev_copy_blocks(group,
                              tutti_dev_of(&meeting, dest, to) + (size_t)meeting.team.me * n * (size_t)dst * bytes,
                              (const char *)source + (size_t)to * n * (size_t)sst * bytes, dst, sst, 1, n, bytes);
    }
    return tutti_dev_meet_last(&meeting);
}
TUTTI_DEV_APART_GROUPS(tutti_dev_alltoalls_rest,
                       (tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                        size_t bytes, int entered, uint32_t cause),
                       team, dest, source, dst, sst, n, bytes, entered, cause)

/* Block j of n elements goes to PE j. dst, sst: elements from one to the next, in dest and source. */
TUTTI_DEV int tutti_dev_alltoalls(int group, tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                  ptrdiff_t sst, size_t n, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int members = tutti_dev_team_n_pes(team);
    const size_t each = n * bytes, all = each * (size_t)(members > 0 ? members : 0);
    if (dst < 1 || sst < 1) {
        tutti_dev_refuse(TSHMEM_KERNEL_ALLTOALL, TSHMEM_WHY_NO_STRIDE, -1, team, 0, (uint64_t)(dst < 1 ? dst : sst));
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    if (tutti_dev_is_far(team) || dst != 1 || sst != 1 || !tutti_dev_is_quick(group, members, each))
        return TUTTI_DEV_OF_GROUP(tutti_dev_alltoalls_rest, group, team, dest, source, dst, sst, n, bytes, 0, 0);
    const int status = tutti_dev_begin_short(&meeting, TSHMEM_KERNEL_ALLTOALL, group, team, dest, all, source, all);
    if (status != TUTTI_DEV_OK)
        return status;
    return tutti_dev_exchange_few(&meeting, dest, source, (unsigned)each, (unsigned)each)
               ? tutti_dev_free(&meeting)
               : TUTTI_DEV_OF_GROUP(tutti_dev_alltoalls_rest, group, team, dest, source, dst, sst, n, bytes, 1,
                                    meeting.cause);
}

#endif
