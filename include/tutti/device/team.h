/* Teams, and how their members meet in kernels: each stores the number of the meeting into every member's area, and
 * waits until all have stored it in its own. Numbers only grow. Teams with far members, which loads and stores do not
 * reach, are asked for at the beginning of each collective, and have their own: far.h. */
#ifndef TUTTI_DEVICE_TEAM_H
#define TUTTI_DEVICE_TEAM_H

/* A team in registers. That of all PEs is not looked up. */
struct tutti_dev_team {
    int me, size, start, stride; /* stride 0: its members are listed */
    uint32_t number;
    const int32_t *world;
};

/* 1, or 0 if there is no such team or this PE is not in it. */
TUTTI_DEV int tutti_dev_team(tshmem_team_t team, struct tutti_dev_team *found)
{
    const struct tshmem_state *const state = tutti_dev_state();
    if (!TUTTI_DEV_KNOWN(state) || team < 0 || team >= TSHMEM_TEAMS_MAX)
        return 0;
    if (team == TSHMEM_TEAM_WORLD) {
        found->me = state->me;
        found->size = state->pes;
        found->start = 0;
        found->stride = 1;
        found->number = 0;
        found->world = NULL;
        return state->pes > 0;
    }
    const struct tshmem_team_state *const told = state->team + team;
    found->me = told->me;
    found->size = told->size;
    found->start = told->start;
    found->stride = told->stride;
    found->number = told->number;
    found->world = told->size > TSHMEM_NEAR_MAX ? told->list : told->world;
    return told->used != 0 && told->me >= 0 && told->size > 0;
}

/* 1 if some members do not reach each other by loads and stores. */
TUTTI_DEV int tutti_dev_is_far(tshmem_team_t team)
{
    const struct tshmem_state *const state = tutti_dev_state();
    return TUTTI_DEV_KNOWN(state) && state->far && team >= 0 && team < TSHMEM_TEAMS_MAX && state->team[team].far;
}

/* PE of the world of that member. */
TUTTI_DEV int tutti_dev_pe(const struct tutti_dev_team *team, int member)
{
    return team->stride != 0 ? team->start + member * team->stride : team->world[member];
}

TUTTI_DEV int tutti_dev_team_my_pe(tshmem_team_t team)
{
    struct tutti_dev_team found;
    return tutti_dev_team(team, &found) ? found.me : -1;
}

TUTTI_DEV int tutti_dev_team_n_pes(tshmem_team_t team)
{
    struct tutti_dev_team found;
    return tutti_dev_team(team, &found) ? found.size : -1;
}

TUTTI_DEV int tutti_dev_team_translate(tshmem_team_t from, int pe, tshmem_team_t to)
{
    struct tutti_dev_team one, other;
    if (!tutti_dev_team(from, &one) || !tutti_dev_team(to, &other) || pe < 0 || pe >= one.size)
        return -1;
    const int sought = tutti_dev_pe(&one, pe);
    for (int i = 0; i < other.size; i++) {
        if (tutti_dev_pe(&other, i) == sought)
            return i;
    }
    return -1;
}

/* ---- a collective under way ---- */

/* All members meet in every step of a collective. A member leaves step s after it has received the word of all members
 * for s, and sends its word for step s after it has finished step s - 1. So a member that begins step s knows that all
 * have finished step s - 2. Data between members alternate between two slots, by sequence % 2, and wait for nothing. */
struct tutti_dev_meeting {
    struct tutti_dev_team team;
    tshmem_team_t id;
    int group, failed; /* failed: of this thread; a wait that was left */
    int operation;     /* enum tshmem_kernel_operation */
    uint32_t cause; /* not 0: what this thread saw fail, TSHMEM_WHY_..., above it 1 + the member that did not arrive */
    uint64_t sequence; /* of the last step */
};

TUTTI_DEV struct tshmem_area *tutti_dev_own_area(const struct tutti_dev_meeting *meeting)
{
    return tutti_dev_here(meeting->team.number);
}

/* Called in every turn of a wait for that member. 1: leave. */
TUTTI_DEV int tutti_dev_gives_up(struct tutti_dev_meeting *meeting, struct tutti_dev_patience *patience, int member)
{
    const int leaves = tutti_dev_leaves(patience, meeting->cause != 0);
    if (leaves == TUTTI_DEV_TOO_LONG && meeting->cause == 0)
        meeting->cause = TSHMEM_WHY_TOO_LONG | (uint32_t)(member + 1) << 8;
    return leaves != 0;
}

/* The end of a collective that has failed: fills the record, where this thread saw why. */
TUTTI_DEV_COLD void tutti_dev_collective_fails(int operation, uint32_t cause, tshmem_team_t team)
{
    if (cause != 0)
        tutti_dev_refuse(operation, (int)(cause & 0xff), (int)(cause >> 8) - 1, team, 0, 0);
    else if (tutti_dev_load_relaxed32(tutti_dev_state()->abort) == 0)
        tutti_dev_abort(TSHMEM_ABORT_KERNEL); /* another thread of the group says why */
}

/* Of the members, the one `i` places behind this PE; i from 0 up to the size of the team. */
TUTTI_DEV int tutti_dev_behind(const struct tutti_dev_team *team, unsigned i)
{
    const int member = team->me + (int)i;
    return member < team->size ? member : member - team->size;
}

/* Announces to all other members that this PE has reached the step after meeting->sequence. May be repeated. Earlier
 * stores of the thread go first: one fence of each announcing thread, a store for each member, spread over the threads.
 * The load of the sequence, still under way, must be complete only after the fence. So the first store is outside of
 * the loop: the compiler calculates what a loop needs in front of it, and would do so in front of the fence. */
TUTTI_DEV void tutti_dev_arrive_say(const struct tutti_dev_meeting *meeting)
{
    const struct tutti_dev_team team = meeting->team;
    const unsigned rank = (unsigned)tutti_dev_rank(meeting->group), size = (unsigned)tutti_dev_size(meeting->group);
    if (rank + 1 >= (unsigned)team.size)
        return;
    struct tshmem_area *other = tutti_dev_area(tutti_dev_pe(&team, tutti_dev_behind(&team, rank + 1)), team.number);
    tutti_dev_fence_release();
    const uint64_t sequence = meeting->sequence + 1;
    tutti_dev_store_relaxed64(&other->arrived[TSHMEM_BY_DEVICE][team.me], sequence);
    TUTTI_DEV_UNROLL_1
    for (unsigned i = rank + 1 + size; i < (unsigned)team.size; i += size) {
        other = tutti_dev_area(tutti_dev_pe(&team, tutti_dev_behind(&team, i)), team.number);
        tutti_dev_store_relaxed64(&other->arrived[TSHMEM_BY_DEVICE][team.me], sequence);
    }
}

/* Waits until all other members have announced the step, and enters it. again: repeats the own announcement if the wait
 * is long. */
TUTTI_DEV void tutti_dev_arrive_await(struct tutti_dev_meeting *meeting, int again)
{
    const struct tutti_dev_team team = meeting->team;
    const unsigned rank = (unsigned)tutti_dev_rank(meeting->group), size = (unsigned)tutti_dev_size(meeting->group);
    const struct tshmem_area *const own = tutti_dev_own_area(meeting);
    struct tutti_dev_patience patience = {0, 0};
    if (rank + 1 < (unsigned)team.size) {
        const uint64_t sequence = meeting->sequence + 1;
        TUTTI_DEV_UNROLL_1
        for (unsigned i = rank + 1; i < (unsigned)team.size && !meeting->failed; i += size) {
            const int member = tutti_dev_behind(&team, i);
            const uint64_t *const word = &own->arrived[TSHMEM_BY_DEVICE][member];
            TUTTI_DEV_UNROLL_1
            while ((int64_t)(tutti_dev_load_look64(word) - sequence) < 0 && !meeting->failed) {
                meeting->failed = tutti_dev_gives_up(meeting, &patience, member);
                if (again && patience.spins % TUTTI_DEV_SPINS == 0)
                    tutti_dev_arrive_say(meeting);
            }
        }
        tutti_dev_seen();
    }
    meeting->sequence++;
}

/* Waits for all other members. What the members' threads have stored before they last waited for each other is seen
 * past the next wait of this group. */
TUTTI_DEV void tutti_dev_arrive(struct tutti_dev_meeting *meeting)
{
    tutti_dev_arrive_say(meeting);
    tutti_dev_arrive_await(meeting, 0);
}

/* All members' groups: what their threads have stored before is seen by all after. */
TUTTI_DEV void tutti_dev_meet(struct tutti_dev_meeting *meeting)
{
    tutti_dev_join(meeting->group);
    tutti_dev_arrive(meeting);
    meeting->failed = tutti_dev_sync(meeting->group, meeting->failed | (meeting->cause != 0));
}

/* The same at once after tutti_dev_enter(), which has waited for the threads. */
TUTTI_DEV void tutti_dev_meet_first(struct tutti_dev_meeting *meeting)
{
    tutti_dev_arrive(meeting);
    meeting->failed = tutti_dev_sync(meeting->group, meeting->failed | (meeting->cause != 0));
}

/* The function of a group's kind: three of them are made of one for all kinds, out of the way of what calls them. What
 * a kernel keeps past a call lies in memory, so short ways are inlined, and long ways are such functions. */
#define TUTTI_DEV_APART_GROUPS(name, parameters, ...)                                                                  \
    TUTTI_DEV_APART int name##_thread parameters                                                                       \
    {                                                                                                                  \
        return name(TUTTI_BY_THREAD, __VA_ARGS__);                                                                     \
    }                                                                                                                  \
    TUTTI_DEV_APART int name##_warp parameters                                                                         \
    {                                                                                                                  \
        return name(TUTTI_BY_WARP, __VA_ARGS__);                                                                       \
    }                                                                                                                  \
    TUTTI_DEV_APART int name##_block parameters                                                                        \
    {                                                                                                                  \
        return name(TUTTI_BY_BLOCK, __VA_ARGS__);                                                                      \
    }
#define TUTTI_DEV_OF_GROUP(name, group, ...)                                                                           \
    ((group) == TUTTI_BY_THREAD ? name##_thread(__VA_ARGS__)                                                           \
     : (group) == TUTTI_BY_WARP ? name##_warp(__VA_ARGS__)                                                             \
                                : name##_block(__VA_ARGS__))

/* A collective that continues in a function of its own gets its arguments as words: a variable whose address is taken
 * lies in memory, on the short ways too. */
TUTTI_DEV struct tutti_dev_meeting tutti_dev_resume(int operation, int group, tshmem_team_t team, uint64_t sequence,
                                                    uint32_t cause)
{
    struct tutti_dev_meeting meeting = TUTTI_DEV_ZERO;
    tutti_dev_team(team, &meeting.team);
    meeting.id = team;
    meeting.group = group;
    meeting.failed = 0;
    meeting.operation = operation;
    meeting.cause = cause;
    meeting.sequence = sequence;
    return meeting;
}

/* Every collective begins here, and by a wait for the group's threads. A team has one at a time: the leader takes the
 * busy word, whose answer is looked at in the end. The answer is the cause itself: a calculation with it would wait for
 * it here. The sequence is not asked for yet. */
TUTTI_DEV int tutti_dev_take(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team)
{
    meeting->id = team;
    meeting->group = group;
    meeting->failed = 0;
    meeting->operation = operation;
    meeting->cause = 0;
    meeting->sequence = 0;
    if (!tutti_dev_team(team, &meeting->team)) {
        tutti_dev_refuse(operation, TSHMEM_WHY_NO_TEAM, -1, team, 0, 0);
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    if (tutti_dev_rank(group) == 0)
        meeting->cause = tutti_dev_swap32(&tutti_dev_own_area(meeting)->busy[TSHMEM_BY_DEVICE], TSHMEM_WHY_UNDER_WAY);
    return TUTTI_DEV_OK;
}

TUTTI_DEV int tutti_dev_open(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team)
{
    const int status = tutti_dev_take(meeting, operation, group, team);
    if (status == TUTTI_DEV_OK)
        tutti_dev_join(group);
    return status;
}

/* Asks for the sequence. Short ways do so before they ask for what they send: both are on their way at once. Long ones
 * ask by themselves: a sequence that all ways share would be kept in memory for the long ones, and waited for at once.
 */
TUTTI_DEV void tutti_dev_ask(struct tutti_dev_meeting *meeting)
{
    meeting->sequence = tutti_dev_load_relaxed64(&tutti_dev_own_area(meeting)->sequence[TSHMEM_BY_DEVICE]);
}

TUTTI_DEV int tutti_dev_enter(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team)
{
    const int status = tutti_dev_open(meeting, operation, group, team);
    if (status == TUTTI_DEV_OK)
        tutti_dev_ask(meeting);
    return status;
}

/* The team may have another collective, once all threads of the group are back, and not before: each of them has asked
 * for the sequence by itself, and the last one may have done so late. So they wait for each other twice, and the words
 * change in between. Those of a grid follow a wait. */
TUTTI_DEV int tutti_dev_free(struct tutti_dev_meeting *meeting)
{
    struct tshmem_area *const own = tutti_dev_own_area(meeting);
    const int leads = tutti_dev_rank(meeting->group) == 0;
    meeting->failed |= leads && meeting->cause != 0;
    if (meeting->group != TUTTI_BY_GRID)
        meeting->failed = tutti_dev_near_sync(meeting->group, meeting->failed);
    if (leads) {
        tutti_dev_store_relaxed64(&own->sequence[TSHMEM_BY_DEVICE], meeting->sequence);
        tutti_dev_store_relaxed32(&own->busy[TSHMEM_BY_DEVICE], 0);
    }
    if (meeting->group == TUTTI_BY_GRID)
        meeting->failed = tutti_dev_grid_sync(meeting->failed);
    else
        tutti_dev_near_join(meeting->group);
    if (!meeting->failed)
        return TUTTI_DEV_OK;
    tutti_dev_collective_fails(meeting->operation, meeting->cause, meeting->id);
    return TUTTI_DEV_ERR_BROKEN;
}

/* Packets (packets.h) carry the lower half of the sequence, and what lies in a slot may be old. Before the half is
 * repeated, all meet, each clears what it has got, and all meet again: 0 is no packet's. */
enum { TUTTI_DEV_RENEW = 32 }; /* more steps than a collective has */
TUTTI_DEV_COLD int tutti_dev_renew(int operation, int group, tshmem_team_t team, uint64_t sequence, uint32_t cause,
                                   int failed)
{
    struct tutti_dev_meeting meeting = tutti_dev_resume(operation, group, team, sequence, cause);
    char *const packets = &tutti_dev_own_area(&meeting)->packets[0][0];
    meeting.failed = failed;
    tutti_dev_meet(&meeting);
    for (size_t i = tutti_dev_rank(group); i < 2 * TSHMEM_PACKETS_BYTES / 16; i += tutti_dev_size(group))
        tutti_dev_store_pair(packets + i * 16, 0, 0);
    meeting.sequence |= 0xffffffffu;
    meeting.sequence++;
    tutti_dev_meet(&meeting);
    return tutti_dev_free(&meeting);
}

/* Every collective ends here, past its last step: the group's threads wait for each other, then buffers are theirs.
 * Those of a grid have done so. */
TUTTI_DEV int tutti_dev_end(struct tutti_dev_meeting *meeting)
{
    if ((uint32_t)meeting->sequence >= 0u - TUTTI_DEV_RENEW)
        return tutti_dev_renew(meeting->operation, meeting->group, meeting->id, meeting->sequence, meeting->cause,
                               meeting->failed);
    return tutti_dev_free(meeting);
}

/* The last meeting of a collective, and its end. */
TUTTI_DEV int tutti_dev_meet_last(struct tutti_dev_meeting *meeting)
{
    tutti_dev_join(meeting->group);
    tutti_dev_arrive(meeting);
    return tutti_dev_end(meeting);
}

/* Of a collective: a symmetric address at that member. An address that is not fails at the own one, on all members
 * alike. */
TUTTI_DEV char *tutti_dev_of(const struct tutti_dev_meeting *meeting, const void *address, int member)
{
    const struct tshmem_state *const state = tutti_dev_state();
    return tutti_dev_heap(tutti_dev_pe(&meeting->team, member)) + ((uintptr_t)address - (uintptr_t)state->heap);
}

/* 1 if `bytes` bytes from there lie in the heap. */
TUTTI_DEV int tutti_dev_symmetric(const void *address, size_t bytes)
{
    const struct tshmem_state *const state = tutti_dev_state();
    const uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)state->heap);
    return offset <= state->heap_bytes && bytes <= state->heap_bytes - offset;
}

/* 1 if the collective may store into the one and read the other. */
TUTTI_DEV int tutti_dev_are_symmetric(int operation, tshmem_team_t team, const void *dest, size_t dest_bytes,
                                      const void *source, size_t source_bytes)
{
    if (!TUTTI_DEV_KNOWN(tutti_dev_state()))
        return 1;
    const int takes = tutti_dev_symmetric(dest, dest_bytes);
    if (takes && tutti_dev_symmetric(source, source_bytes))
        return 1;
    tutti_dev_refuse(operation, TSHMEM_WHY_NOT_SYMMETRIC, -1, team, (uint64_t)(uintptr_t)(takes ? source : dest),
                     takes ? source_bytes : dest_bytes);
    return 0;
}

/* tutti_dev_enter() with a look at what the collective stores into and reads; refused, nothing is begun. */
TUTTI_DEV int tutti_dev_begin(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team,
                              const void *dest, size_t dest_bytes, const void *source, size_t source_bytes)
{
    return tutti_dev_are_symmetric(operation, team, dest, dest_bytes, source, source_bytes)
               ? tutti_dev_enter(meeting, operation, group, team)
               : TUTTI_DEV_ERR_ARGUMENT;
}

/* The same with tutti_dev_open(). */
TUTTI_DEV int tutti_dev_begin_short(struct tutti_dev_meeting *meeting, int operation, int group, tshmem_team_t team,
                                    const void *dest, size_t dest_bytes, const void *source, size_t source_bytes)
{
    return tutti_dev_are_symmetric(operation, team, dest, dest_bytes, source, source_bytes)
               ? tutti_dev_open(meeting, operation, group, team)
               : TUTTI_DEV_ERR_ARGUMENT;
}

#endif
