/* Steps of teams with far members, which loads and stores do not reach. A near member gets the word of a step by a
 * store, a far one by the ring. All of a step's data travel with its word: to near members by stores before the word,
 * to far ones as a put with signal.
 *
 * As in team.h, every member receives from all others in a step. The words of far members have two slots, which
 * alternate, so the wire may deliver the words of two successive steps in either order. Teams without far members use
 * none of these functions. They take few registers, since a kernel needs those of the largest function it may call. */
#ifndef TUTTI_DEVICE_FAR_H
#define TUTTI_DEVICE_FAR_H

/* What goes to the members with the word of a step: to each `bytes` bytes from `from` + member * `step` on, which then
 * lie at `to` + member * `to_step`; none past `left` bytes from `from` on. */
struct tutti_dev_far_put {
    char *to; /* symmetric */
    const char *from;
    size_t step, bytes, left, to_step;
    int only; /* 0: to all; otherwise to member only - 1 alone */
};
#define TUTTI_DEV_NO_END (~(size_t)0)

TUTTI_DEV size_t tutti_dev_far_put_bytes(const struct tutti_dev_far_put *put, int member)
{
    const size_t before = put->step * (size_t)member;
    const size_t left = before < put->left ? put->left - before : 0;
    if (put->only != 0 && put->only != member + 1)
        return 0;
    return left < put->bytes ? left : put->bytes;
}

TUTTI_DEV char *tutti_dev_far_put_to(const struct tutti_dev_far_put *put, int member)
{
    return put->to + put->to_step * (size_t)member;
}

TUTTI_DEV_APART int tutti_dev_far_sync(int group, int failed)
{
    return tutti_dev_sync(group, failed);
}

TUTTI_DEV int tutti_dev_is_near(const struct tutti_dev_meeting *meeting, int member)
{
    return tutti_dev_peer(tutti_dev_state(), tutti_dev_pe(&meeting->team, member)) != NULL;
}

/* Where a near member, or the agent for a far one, stores the sequence of a step: words of the area, or behind it. */
TUTTI_DEV_APART uint64_t *tutti_dev_far_word(const struct tutti_dev_meeting *meeting, struct tshmem_area *area,
                                             int near, uint64_t sequence, int member)
{
    uint64_t *const behind = (uint64_t *)(void *)(area + 1);
    const size_t part = near ? 0 : 1 + sequence % 2;
    if (meeting->team.size > TSHMEM_NEAR_MAX)
        return behind + part * (size_t)tutti_dev_state()->pes + member;
    return near ? &area->arrived[TSHMEM_BY_DEVICE][member] : &area->told[sequence % 2][member];
}

TUTTI_DEV_APART void tutti_dev_far_copy(int group, void *dest, const void *source, size_t bytes)
{
    tutti_dev_copy(group, dest, source, bytes);
}

TUTTI_DEV_APART int tutti_dev_far_begin(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team,
                                        const void *dest, size_t dest_bytes, const void *source, size_t source_bytes)
{
    return tutti_dev_begin(meeting, operation, group, team, dest, dest_bytes, source, source_bytes);
}

/* The word of the step to one member; to a far one with its put. */
TUTTI_DEV_APART void tutti_dev_far_publish_one(const struct tutti_dev_meeting *meeting,
                                               const struct tutti_dev_far_put *put, int member)
{
    const int me = meeting->team.me;
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    r.pe = tutti_dev_pe(&meeting->team, member);
    r.value = meeting->sequence;
    if (tutti_dev_is_near(meeting, member)) {
        tutti_dev_store_relaxed64(
            tutti_dev_far_word(meeting, tutti_dev_area(r.pe, meeting->team.number), 1, r.value, me), r.value);
        return;
    }
    r.operation = TSHMEM_RING_PUT_SIGNAL;
    r.what = TSHMEM_SIGNAL_SET;
    r.bytes = tutti_dev_far_put_bytes(put, member);
    r.source = (uint64_t)(uintptr_t)(put->from + put->step * (size_t)member);
    if (tutti_dev_ring_offset(meeting->operation,
                              tutti_dev_far_word(meeting, tutti_dev_own_area(meeting), 0, r.value, me),
                              sizeof(uint64_t), r.pe, &r.compare) &&
        (r.bytes == 0 ||
         tutti_dev_ring_offset(meeting->operation, tutti_dev_far_put_to(put, member), r.bytes, r.pe, &r.dest)))
        tutti_dev_ring_send(&r, 0);
}

/* To all, spread over the threads. */
TUTTI_DEV_APART void tutti_dev_far_publish(const struct tutti_dev_meeting *meeting, const struct tutti_dev_far_put *put)
{
    tutti_dev_fence_release();
    TUTTI_DEV_UNROLL_1
    for (int i = (int)tutti_dev_rank(meeting->group); i < meeting->team.size; i += (int)tutti_dev_size(meeting->group))
        tutti_dev_far_publish_one(meeting, put, i);
}

/* Waits for the words of all members; all have passed it or failed past the group's next wait. */
TUTTI_DEV_APART void tutti_dev_far_await(struct tutti_dev_meeting *meeting)
{
    const int members = meeting->team.size, size = (int)tutti_dev_size(meeting->group);
    const uint64_t sequence = meeting->sequence;
    struct tshmem_area *const own = tutti_dev_own_area(meeting);
    struct tutti_dev_patience patience = {0, 0};
    TUTTI_DEV_UNROLL_1
    for (int i = (int)tutti_dev_rank(meeting->group); i < members; i += size) {
        const uint64_t *const word = tutti_dev_far_word(meeting, own, tutti_dev_is_near(meeting, i), sequence, i);
        while (!meeting->failed && (int64_t)(tutti_dev_load_acquire64(word) - sequence) < 0)
            meeting->failed = tutti_dev_gives_up(meeting, &patience, i);
    }
}

/* One step, with parcels of far members. */
TUTTI_DEV_APART void tutti_dev_far_turn(struct tutti_dev_meeting *meeting, const struct tutti_dev_far_put *put)
{
    tutti_dev_far_sync(meeting->group, 0);
    meeting->sequence++;
    tutti_dev_far_publish(meeting, put);
    tutti_dev_far_await(meeting);
    meeting->failed = tutti_dev_far_sync(meeting->group, meeting->failed | (meeting->cause != 0));
}

TUTTI_DEV_APART void tutti_dev_far_meet(struct tutti_dev_meeting *meeting)
{
    const struct tutti_dev_far_put nothing = TUTTI_DEV_ZERO;
    tutti_dev_far_turn(meeting, &nothing);
}

/* The put of a near member, by all threads. */
TUTTI_DEV_APART void tutti_dev_far_carry(const struct tutti_dev_meeting *meeting, const struct tutti_dev_far_put *put,
                                         int member)
{
    const char *const here = put->from + put->step * (size_t)member;
    char *const there =
        tutti_dev_is_near(meeting, member) ? tutti_dev_of(meeting, tutti_dev_far_put_to(put, member), member) : NULL;
    if (there && there != here)
        tutti_dev_copy(meeting->group, there, here, tutti_dev_far_put_bytes(put, member));
}

/* One step, with a put for each member; past it those of all members lie here. */
TUTTI_DEV_APART void tutti_dev_far_step(struct tutti_dev_meeting *meeting, const struct tutti_dev_far_put *put)
{
    const int members = meeting->team.size;
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < members && put->bytes > 0; i++)
        tutti_dev_far_carry(meeting, put, (meeting->team.me + i) % members);
    tutti_dev_far_turn(meeting, put);
}

/* Until what this PE has sent has been read, and is there. */
TUTTI_DEV_APART void tutti_dev_far_settle(struct tutti_dev_meeting *meeting)
{
    tutti_dev_far_sync(meeting->group, 0);
    if (tutti_dev_rank(meeting->group) == 0) {
        if (tutti_dev_state()->ring.slots != 0)
            tutti_dev_ring_drain();
        meeting->failed |= tutti_dev_load_relaxed32(tutti_dev_state()->abort) != 0;
    }
    meeting->failed = tutti_dev_far_sync(meeting->group, meeting->failed);
}

/* No packets, so nothing to renew. */
TUTTI_DEV_APART int tutti_dev_far_end(struct tutti_dev_meeting *meeting)
{
    tutti_dev_far_settle(meeting);
    return tutti_dev_free(meeting);
}

TUTTI_DEV_APART int tutti_dev_far_barrier(int group, tshmem_team_t team)
{
    struct tutti_dev_meeting meeting;
    const int status = tutti_dev_far_begin(&meeting, TSHMEM_KERNEL_BARRIER, group, team, tutti_dev_state()->heap, 0,
                                           tutti_dev_state()->heap, 0);
    if (status != TUTTI_DEV_OK)
        return status;
    tutti_dev_far_meet(&meeting);
    return tutti_dev_free(&meeting);
}

#endif
