/* Collectives that move data in teams with far members, which loads and stores do not reach. Data go with the word of a
 * step (tutti_dev_arrive_far()): to near members by stores, to far ones by the ring. Small ones go into the receivers'
 * slots (packets.h), where they lie as they are, in one step; larger ones into the results, past a step that says that
 * these may be stored over.
 *
 * All of it is out of the way of teams without far members: what they have in registers stays there. */
#ifndef TUTTI_DEVICE_FAR_H
#define TUTTI_DEVICE_FAR_H

#define TUTTI_DEV_NO_END (~(size_t)0) /* of a parcel: all have the same bytes */

/* One step, with a parcel for each member; past it those of all members lie here. */
TUTTI_DEV_APART void tutti_dev_far_step(struct tutti_dev_meeting *meeting, const struct tutti_dev_parcel *parcel)
{
    const struct tshmem_state *const state = tutti_dev_state();
    const int members = meeting->team.size, me = meeting->team.me;
    for (int i = 0; i < members; i++) {
        const int to = (me + i) % members;
        const size_t bytes = tutti_dev_parcel_bytes(parcel, to);
        if (bytes == 0 || !state->peer[tutti_dev_pe(&meeting->team, to)])
            continue;
        char *const there = tutti_dev_of(meeting, parcel->to, to);
        const char *const here = parcel->from + parcel->step * (size_t)to;
        if (there != here)
            tutti_dev_copy(meeting->group, there, here, bytes);
    }
    tutti_dev_sync(meeting->group, 0);
    meeting->sequence++;
    meeting->failed = tutti_dev_arrive_far(*meeting, *parcel);
    meeting->failed = tutti_dev_sync(meeting->group, meeting->failed | (meeting->taken != 0));
}

TUTTI_DEV void tutti_dev_far_meet(struct tutti_dev_meeting *meeting)
{
    const struct tutti_dev_parcel nothing = TUTTI_DEV_ZERO;
    tutti_dev_far_step(meeting, &nothing);
}

/* The own slots of the next step. */
TUTTI_DEV char *tutti_dev_far_slots(const struct tutti_dev_meeting *meeting)
{
    return tutti_dev_own_area(meeting)->packets[(meeting->sequence + 1) % 2];
}

TUTTI_DEV int tutti_dev_far_is_small(const struct tutti_dev_meeting *meeting, size_t bytes)
{
    return bytes <= TUTTI_DEV_SMALL && bytes <= tutti_dev_slot(meeting);
}

/* Until what this PE has sent has been read, and is there. */
TUTTI_DEV void tutti_dev_far_settle(struct tutti_dev_meeting *meeting)
{
    tutti_dev_drain(meeting->group);
    if (tutti_dev_rank(meeting->group) == 0 && tutti_dev_load_relaxed32(tutti_dev_state()->abort) != 0)
        meeting->failed = 1;
    meeting->failed = tutti_dev_sync(meeting->group, meeting->failed);
}

TUTTI_DEV_APART int tutti_dev_far_end(struct tutti_dev_meeting *meeting)
{
    tutti_dev_far_settle(meeting);
    return tutti_dev_end(meeting);
}

TUTTI_DEV_APART int tutti_dev_far_broadcast(struct tutti_dev_meeting meeting, char *dest, const char *source,
                                            size_t bytes, int root)
{
    const int is_root = meeting.team.me == root;
    struct tutti_dev_parcel parcel = {dest, source, 0, is_root ? bytes : 0, TUTTI_DEV_NO_END};
    if (!tutti_dev_far_is_small(&meeting, bytes)) {
        tutti_dev_far_meet(&meeting);
        tutti_dev_far_step(&meeting, &parcel);
        return tutti_dev_far_end(&meeting);
    }
    char *const slot = tutti_dev_far_slots(&meeting) + tutti_dev_slot(&meeting) * (unsigned)root;
    parcel.to = slot;
    tutti_dev_far_step(&meeting, &parcel);
    if (!is_root || dest != source)
        tutti_dev_copy(meeting.group, dest, is_root ? source : slot, bytes);
    return tutti_dev_far_end(&meeting);
}

/* To member i what lies at source + i * source_step; what comes from it goes to dest + i * bytes. */
TUTTI_DEV_APART int tutti_dev_far_all(struct tutti_dev_meeting meeting, char *dest, const char *source,
                                      size_t source_step, size_t bytes)
{
    const int members = meeting.team.size, me = meeting.team.me;
    const size_t slot = tutti_dev_slot(&meeting);
    struct tutti_dev_parcel parcel = {dest + (size_t)me * bytes, source, source_step, bytes, TUTTI_DEV_NO_END};
    if (!tutti_dev_far_is_small(&meeting, bytes)) {
        tutti_dev_far_meet(&meeting);
        tutti_dev_far_step(&meeting, &parcel);
        return tutti_dev_far_end(&meeting);
    }
    char *const slots = tutti_dev_far_slots(&meeting);
    parcel.to = slots + (size_t)me * slot;
    tutti_dev_far_step(&meeting, &parcel);
    for (int i = 0; i < members; i++)
        tutti_dev_copy(meeting.group, dest + (size_t)i * bytes, slots + (size_t)i * slot, bytes);
    return tutti_dev_far_end(&meeting);
}

/* All say how much they bring, then all know where it goes. */
TUTTI_DEV_APART int tutti_dev_far_collect(struct tutti_dev_meeting meeting, char *dest, const char *source,
                                          size_t bytes)
{
    const int members = meeting.team.size, me = meeting.team.me;
    const size_t slot = tutti_dev_slot(&meeting);
    char *const slots = tutti_dev_far_slots(&meeting), *const own = slots + (size_t)me * slot;
    const struct tutti_dev_parcel length = {own, own, 0, sizeof(uint64_t), TUTTI_DEV_NO_END};
    size_t at = 0, all = 0;
    if (tutti_dev_rank(meeting.group) == 0)
        tutti_dev_store_relaxed64(own, bytes);
    tutti_dev_sync(meeting.group, 0);
    tutti_dev_far_step(&meeting, &length);
    for (int i = 0; i < members && !meeting.failed; i++) {
        at = i == me ? all : at;
        all += (size_t)tutti_dev_load_relaxed64(slots + (size_t)i * slot);
    }
    if (meeting.failed || !tutti_dev_symmetric(dest, all)) {
        meeting.failed = 1; /* on all PEs alike */
        return tutti_dev_end(&meeting);
    }
    const struct tutti_dev_parcel parcel = {dest + at, source, 0, bytes, TUTTI_DEV_NO_END};
    tutti_dev_far_step(&meeting, &parcel);
    return tutti_dev_far_end(&meeting);
}

/* As tutti_dev_alltoalls(). What goes to far members is there when the requests for it are done. */
TUTTI_DEV_APART int tutti_dev_far_alltoalls(struct tutti_dev_meeting meeting, char *dest, const char *source,
                                            ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t bytes)
{
    const struct tshmem_state *const state = tutti_dev_state();
    const int members = meeting.team.size, me = meeting.team.me;
    const size_t rank = tutti_dev_rank(meeting.group), size = tutti_dev_size(meeting.group);
    const size_t to_step = n * (size_t)dst * bytes, from_step = n * (size_t)sst * bytes;
    char *const to = dest + (size_t)me * to_step;
    tutti_dev_far_meet(&meeting);
    for (int i = 0; i < members && n > 0; i++) {
        const int pe = tutti_dev_pe(&meeting.team, i);
        const char *const from = source + (size_t)i * from_step;
        if (state->peer[pe])
            tutti_dev_copy_blocks(meeting.group, tutti_dev_of(&meeting, to, i), from, dst, sst, 1, n, bytes);
        else if ((size_t)i % size == rank)
            tutti_dev_ring_blocks(0, to, from, dst, sst, 1, n, bytes, pe);
    }
    tutti_dev_far_meet(&meeting);
    return tutti_dev_far_end(&meeting);
}

#endif
