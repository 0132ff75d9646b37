#include "team/watch.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/log.h"
#include "core/types.h"

static const char *const collective_names[TUTTI_COLLECTIVES] = {
#define TUTTI_COLLECTIVE(id, name) name,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
};

enum {
    SHOWN = 6,                   /* ranks of a report; the rest are counted */
    KERNEL_GRACE_NS = 1000000000 /* for kernels after the death of a peer */
};

/* A line that is cut at its end, never overrun. */
struct line {
    char text[900];
    size_t used;
};

static void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line_add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, arguments);
    va_end(arguments);
    if (n > 0)
        line->used = line->used + (size_t)n < sizeof line->text ? line->used + (size_t)n : sizeof line->text - 1;
}

static int is_reduction(uint32_t collective)
{
    return collective < TUTTI_COLLECTIVE_BCAST;
}

/* "MPI_Allreduce of 1024 float, sum" */
static void write_call(const struct tutti_arrival *a, char *out, size_t size)
{
    const char *name = a->collective < TUTTI_COLLECTIVES ? collective_names[a->collective] : "an unknown call";
    const char *type = a->type >= 0 && a->type < TUTTI_TYPES ? tutti_type_name(a->type) : "elements";
    const char *op = a->op >= 0 && a->op < TUTTI_OPS ? tutti_op_name(a->op) : "unknown operator";
    if (!is_reduction(a->collective)) {
        int rooted = a->collective <= TUTTI_COLLECTIVE_SCATTERV;
        snprintf(out, size, rooted ? "%s, root %llu" : "%s", name, (unsigned long long)a->detail);
        return;
    }
    int n = snprintf(out, size, "%s of %llu %s, %s", name, (unsigned long long)a->count, type, op);
    if (n < 0 || (size_t)n >= size)
        return;
    if (a->collective == TUTTI_COLLECTIVE_REDUCE)
        snprintf(out + n, size - (size_t)n, ", root %llu", (unsigned long long)a->detail);
    else if (a->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER)
        snprintf(out + n, size - (size_t)n, ", counts with checksum %08x", (unsigned)(a->detail >> 32));
}

static int watch_pid_of(const struct tutti_membership *membership, int r)
{
    return membership->node->peer[membership->peer[r]].pid;
}

static uint32_t call_number(uint32_t sequence)
{
    return sequence - (uint32_t)TUTTI_FIRST;
}

/* Ranks among w->of that have not yet done what is waited for. Kernels: all of them. */
static uint64_t missing_of(const struct tutti_waiting *w)
{
    const struct tutti_team *team = w->team;
    uint64_t missing = 0;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_slot *slot = team->slot[r];
        int there = 0;
        if (r == team->rank || !(w->of >> r & 1))
            continue;
        switch (w->what) {
        case TUTTI_WAITING_ARRIVAL:
            there = tutti_reached(atomic_load(&slot->sequence), team->sequence);
            break;
        case TUTTI_WAITING_VOTE:
        case TUTTI_WAITING_OFFER:
            there = tutti_reached(atomic_load(&slot->voted), team->votes);
            break;
        case TUTTI_WAITING_DONE:
            there = tutti_reached(atomic_load(&slot->done), team->sequence);
            break;
        case TUTTI_WAITING_DESCRIPTOR:
            there = !(tutti_membership(team)->expected >> r & 1);
            break;
        case TUTTI_WAITING_BOARD:
        case TUTTI_WAITING_KERNEL:
            break;
        }
        missing |= (uint64_t)!there << r;
    }
    return missing;
}

uint64_t tutti_watch_gone(const struct tutti_membership *membership, uint64_t mask)
{
    struct pollfd sockets[TUTTI_MAX_RANKS];
    int ranks[TUTTI_MAX_RANKS], n = 0;
    for (int r = 0; r < membership->size; r++) {
        if (r == membership->rank || !(mask >> r & 1))
            continue;
        sockets[n] = (struct pollfd){.fd = membership->node->peer[membership->peer[r]].socket, .events = POLLRDHUP};
        ranks[n++] = r;
    }
    uint64_t gone = 0;
    if (n == 0 || poll(sockets, (nfds_t)n, 0) <= 0)
        return 0;
    for (int i = 0; i < n; i++) {
        if (sockets[i].revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) {
            gone |= UINT64_C(1) << ranks[i];
            atomic_store(&membership->node->peer[membership->peer[ranks[i]]].gone, 1);
        }
    }
    return gone;
}

int tutti_node_died(const struct tutti_node *node, int r)
{
    struct pollfd socket = {.fd = node->peer[r].socket, .events = POLLRDHUP};
    int died = r != node->rank && poll(&socket, 1, 0) > 0 &&
               socket.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL) &&
               !atomic_load(&node->peer[r].page->control->closed);
    return died ? node->peer[r].pid : 0;
}

int tutti_node_dead(const struct tutti_node *node)
{
    int pid = 0;
    for (int r = 0; r < node->size && !pid; r++)
        pid = tutti_node_died(node, r);
    return pid;
}

static const char *team_nonblocking(const struct tutti_team *team)
{
    return team->is_nonblocking ? "nonblocking " : "";
}

static void line_add_here(struct line *line, const struct tutti_waiting *w)
{
    const struct tutti_team *team = w->team;
    struct tutti_arrival last;
    char call[128];
    if (tutti_record_read(team->slot[team->rank], team->sequence, &last) != 1 || call_number(team->sequence) == 0) {
        line_add(line, "%s, before its first call", team->transport->label);
        return;
    }
    write_call(&last, call, sizeof call);
    line_add(line, "%scall %u on %s (%s)", team_nonblocking(team), call_number(team->sequence), team->transport->label,
             call);
}

/* A kernel that has all it needs from a peer that has gone ends soon by itself. Takes those that left in good order out
 * of *gone: they do so only after their part. */
static int wait_overdue(struct tutti_waiting *w, uint64_t *gone)
{
    const struct tutti_membership *membership = tutti_membership(w->team);
    for (uint64_t rest = *gone; rest; rest &= rest - 1) {
        int r = __builtin_ctzll(rest);
        if (atomic_load(&membership->node->peer[membership->peer[r]].page->control->closed))
            *gone &= ~(UINT64_C(1) << r);
    }
    if (*gone && w->doomed == 0)
        w->doomed = w->waited;
    return *gone && w->waited - w->doomed >= KERNEL_GRACE_NS;
}

int tutti_watch_peers(struct tutti_waiting *w)
{
    const struct tutti_team *team = w->team;
    const struct tutti_membership *membership = tutti_membership(team);
    struct line line = {.used = 0};
    uint64_t gone = tutti_watch_gone(membership, missing_of(w));
    if (gone)
        gone &= missing_of(w); /* it may have done its part and left since */
    if (gone && w->what == TUTTI_WAITING_KERNEL && !wait_overdue(w, &gone))
        gone = 0;
    if (gone) {
        int r = __builtin_ctzll(gone);
        int left = (int)atomic_load(&membership->node->peer[membership->peer[r]].page->control->closed);
        line_add(&line, "rank %d (process %d) has %s while rank %d waited for it in ", r, watch_pid_of(membership, r),
                 left ? "finalized" : "died", team->rank);
        line_add_here(&line, w);
        tutti_error("%s", line.text);
        return TUTTI_ERR_PEER;
    }
    for (int r = 0; r < team->size; r++) {
        int status = tutti_status_of_word(atomic_load(&team->slot[r]->broken));
        if (r == team->rank || status == TUTTI_OK || (w->patient && !tutti_wait_is_lost(status)))
            continue;
        line_add(&line, "rank %d has given up (%s) ", r, tutti_status_text(status));
        line_add_here(&line, w);
        tutti_info("%s", line.text);
        return status;
    }
    return TUTTI_OK;
}

/* What a rank that is waited for is known to do. */
static void add_whereabouts(struct line *line, const struct tutti_waiting *w, int r)
{
    const struct tutti_slot *slot = w->team->slot[r];
    const struct tutti_membership *membership = tutti_membership(w->team);
    uint32_t last = atomic_load(&slot->sequence);
    line_add(line, "rank %d (process %d) ", r, watch_pid_of(membership, r));
    switch (w->what) {
    case TUTTI_WAITING_VOTE:
        line_add(line, "has arrived and not agreed yet");
        return;
    case TUTTI_WAITING_OFFER:
        line_add(line, "has not said what device memory it can share");
        return;
    case TUTTI_WAITING_DESCRIPTOR:
        line_add(line, "has not sent the descriptor of its buffer");
        return;
    case TUTTI_WAITING_DONE:
        line_add(line, "has arrived and not finished");
        return;
    case TUTTI_WAITING_BOARD:
        line_add(line, "has not written its part of a move over several nodes");
        return;
    default:
        break;
    }
    if (last == (uint32_t)TUTTI_FIRST) {
        line_add(line, "has not arrived, this would be its first call");
        return;
    }
    struct tutti_arrival its;
    char call[128] = "forgotten";
    if (tutti_record_read(slot, last, &its) == 1)
        write_call(&its, call, sizeof call);
    line_add(line, "has not arrived, its last call was %u (%s)", call_number(last), call);
}

static void add_missing(struct line *line, const struct tutti_waiting *w)
{
    const struct tutti_team *team = w->team;
    if (w->what == TUTTI_WAITING_KERNEL) {
        uint32_t where = team->words ? __atomic_load_n(&team->words->where, __ATOMIC_RELAXED) : 0;
        int gpu = (int)(where & 0xffff);
        if (where && gpu < team->gpus)
            line_add(line, "its kernel waits for the GPU of rank %d in phase %u", team->leader_of[gpu], where >> 16);
        else
            line_add(line, "its kernel has not ended");
        return;
    }
    uint64_t missing = missing_of(w);
    for (int shown = 0; missing; missing &= missing - 1, shown++) {
        if (shown == SHOWN) {
            line_add(line, "; and %d more ranks", __builtin_popcountll(missing));
            return;
        }
        line_add(line, shown ? "; " : "");
        add_whereabouts(line, w, __builtin_ctzll(missing));
    }
}

static void add_waiter(struct line *line, const struct tutti_waiting *w)
{
    line_add(line, "rank %d has waited %llu s in ", w->team->rank, (unsigned long long)(w->waited / 1000000000));
    line_add_here(line, w);
    line_add(line, ": ");
    add_missing(line, w);
}

void tutti_watch_stall(const struct tutti_waiting *w)
{
    struct line line = {.used = 0};
    add_waiter(&line, w);
    tutti_warn("%s", line.text);
}

void tutti_watch_timeout(const struct tutti_waiting *w)
{
    struct line line = {.used = 0};
    add_waiter(&line, w);
    tutti_error("%s; it gives up (TUTTI_TIMEOUT_SECONDS)", line.text);
}

int tutti_watch_alike(const struct tutti_arrival *a, const struct tutti_arrival *b)
{
    return a->collective == b->collective && a->type == b->type && a->op == b->op &&
           (a->count == b->count || !is_reduction(a->collective)) && a->detail == b->detail;
}

void tutti_watch_mismatch(const struct tutti_team *team, const struct tutti_arrival *const all[])
{
    int reporter = 0;
    for (int r = team->size - 1; r >= 0; r--) { /* ranks with host memory have gone on */
        if (!tutti_arrival_leaves(all[r]->kind))
            reporter = r;
    }
    if (team->rank != reporter)
        return;
    struct line line = {.used = 0};
    line_add(&line, "the ranks' calls do not match in %scall %u on %s:", team_nonblocking(team),
             call_number(team->sequence), team->transport->label);
    int shown = 0;
    for (int r = 0; r < team->size; r++) {
        int first = r, more = 0;
        for (int p = r - 1; p >= 0; p--)
            first = tutti_watch_alike(all[p], all[r]) ? p : first;
        if (first < r || shown++ == SHOWN)
            continue;
        for (int p = r + 1; p < team->size; p++)
            more += tutti_watch_alike(all[p], all[r]);
        char call[128];
        write_call(all[r], call, sizeof call);
        line_add(&line, "%s rank %d", shown > 1 ? ";" : "", r);
        if (more)
            line_add(&line, " and %d more", more);
        line_add(&line, ": %s", call);
    }
    tutti_error("%s", line.text);
}
