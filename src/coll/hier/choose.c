/* The rules of reductions over nodes: how a call is divided, by the bytes of a rank's contribution; how the leaders
 * exchange, by the bytes of a leader's part of a piece. */
#include "coll/hier/own.h"
#include "coll/sections.h"
#include "core/settings.h"
#include "core/types.h"
#include "kernels/args.h"

enum { CHOOSE_ROOM = 16 << 20 }; /* bytes of received contributions in an exchange */

enum nodes_id {
#define TUTTI_NODES(name, text) NODES_##name,
#include "tutti/nodes.def"
    NODES_ROWS,
    NODES_MPI = NODES_ROWS
};

enum exchange_id {
#define TUTTI_EXCHANGE(name, text) EXCHANGE_##name,
#include "tutti/nodes.def"
    EXCHANGE_ROWS
};

static const struct tutti_nodes_row *const nodes_rows[NODES_ROWS] = {
#define TUTTI_NODES(name, text) &tutti_nodes_##name,
#include "tutti/nodes.def"
};

static const struct tutti_exchange_row *const exchange_rows[EXCHANGE_ROWS] = {
#define TUTTI_EXCHANGE(name, text) &tutti_exchange_##name,
#include "tutti/nodes.def"
};

static const struct tutti_names nodes_names = {
    .what = "algorithm over nodes",
#define TUTTI_NODES(name, text) #name " "
    .known =
#include "tutti/nodes.def"
        "mpi",
};

static const struct tutti_names exchange_names = {
    .what = "exchange of leaders",
#define TUTTI_EXCHANGE(name, text) #name " "
    .known =
#include "tutti/nodes.def"
        ,
};

enum { SECTION_LEADERS = TUTTI_REDUCTION_SECTIONS, SECTION_COMBINE, SECTIONS }; /* behind those of reductions */

enum { COMBINE_HOST, COMBINE_DEVICE }; /* in the order of the names */
static const struct tutti_names combine_names = {.what = "place where leaders combine", .known = "host device"};

static const struct tutti_section sections[SECTIONS] = {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_REDUCTION_RULES(ID, name) [TUTTI_REDUCTION_RULES_##ID] = {name "_nodes", &nodes_names},
#include "tutti/collectives.def"
    [SECTION_LEADERS] = {"leaders", &exchange_names},
    [SECTION_COMBINE] = {"leaders_combine", &combine_names},
};
static struct tutti_rules_room nodes_room = {
    .section = sections,
    .sections = SECTIONS,
    .known = "allreduce_nodes, reduce_nodes, reduce_scatter_nodes, scan_nodes, leaders, leaders_combine"};

__attribute__((constructor)) static void nodes_register(void)
{
    tutti_rules_register(&nodes_room);
}

int tutti_nodes_is_scan(enum tutti_collective collective)
{
    return tutti_reduction_rules_of(collective) == TUTTI_REDUCTION_RULES_SCAN;
}

int tutti_nodes_knows(enum tutti_collective collective)
{
    return tutti_reduction_rules_of(collective) >= 0;
}

/* A scan's results are in rank order. Beyond 64 ranks the messages of a slice are too many and too small. */
static int row_can(const struct tutti_nodes_row *row, int section, const struct tutti_hierarchy *hierarchy)
{
    if (section == TUTTI_REDUCTION_RULES_SCAN && (!row->scans || hierarchy->ranks->size > TUTTI_MAX_RANKS))
        return 0;
    return !row->can || row->can(hierarchy);
}

const struct tutti_nodes_row *tutti_nodes_choose(const struct tutti_nodes *nodes, enum tutti_collective collective,
                                                 size_t bytes)
{
    const int section = tutti_reduction_rules_of(collective);
    int from = tutti_rules_begin(nodes->rules), choice;
    if (section < 0)
        return NULL;
    if (tutti_settings()->order == TUTTI_SET_ORDER_RANKS)
        return &tutti_nodes_ranks;
    while ((choice = tutti_rules_next(nodes_room.first + section, bytes, &from)) >= 0) {
        if (choice == NODES_MPI)
            return NULL;
        if (row_can(nodes_rows[choice], section, nodes->hierarchy))
            return nodes_rows[choice];
    }
    return NULL;
}

const struct tutti_exchange_row *tutti_exchange_choose(const struct tutti_nodes *nodes, int n, size_t count,
                                                       size_t size)
{
    int from = tutti_rules_begin(nodes->rules), choice;
    while ((choice = tutti_rules_next(nodes_room.first + SECTION_LEADERS, count * size, &from)) >= 0) {
        const struct tutti_exchange_row *row = exchange_rows[choice];
        if (row->room(n, count, size) <= CHOOSE_ROOM && (row->most == 0 || n <= row->most))
            return row;
    }
    return &tutti_exchange_slices;
}

int tutti_nodes_by_kernels(const struct tutti_nodes *nodes, size_t bytes)
{
    int from = tutti_rules_begin(nodes->rules);
    return tutti_rules_next(nodes_room.first + SECTION_COMBINE, bytes, &from) == COMBINE_DEVICE;
}

int tutti_nodes_takes(const struct tutti_nodes *nodes, const struct tutti_call *call)
{
    return tutti_nodes_choose(nodes, call->collective, call->count * tutti_type_size(call->type)) != NULL;
}
