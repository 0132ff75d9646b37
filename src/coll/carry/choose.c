/* The rules of moves over nodes: which row makes a call, by bytes that all ranks know. */

#include "coll/carry/own.h"
#include "coll/sections.h"
#include "core/once.h"
#include "core/settings.h"

enum carry_id {
#define TUTTI_CARRY(name, text) CARRY_##name,
#include "tutti/nodes.def"
    CARRY_ROWS,
    CARRY_MPI = CARRY_ROWS
};

static const struct tutti_carry_row *const rows[CARRY_ROWS] = {
#define TUTTI_CARRY(name, text) &tutti_carry_##name,
#include "tutti/nodes.def"
};

static const struct tutti_names carry_names = {
    .what = "move over nodes",
#define TUTTI_CARRY(name, text) #name " "
    .known =
#include "tutti/nodes.def"
        "mpi",
};

static const struct tutti_section sections[TUTTI_MOVER_SECTIONS] = {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_MOVER_RULES(ID, name) [TUTTI_MOVER_RULES_##ID] = {name "_nodes", &carry_names},
#include "tutti/collectives.def"
};
static struct tutti_rules_room carry_room = {
    .section = sections,
    .sections = TUTTI_MOVER_SECTIONS,
    .known = "bcast_nodes, gather_nodes, scatter_nodes, allgather_nodes, alltoall_nodes, neighbor_nodes"};

__attribute__((constructor)) static void carry_register(void)
{
    tutti_rules_register(&carry_room);
}

int tutti_carry_knows(enum tutti_collective collective)
{
    return tutti_mover_rules_of(collective) >= 0;
}

/* Rules may name rows that do not make this collective; the next one that fits is taken. */
const struct tutti_carry_row *tutti_carry_choose(int rules, const struct tutti_call *call)
{
    const int section = tutti_mover_rules_of(call->collective);
    int from = tutti_rules_begin(rules), choice;
    while (section >= 0 && (choice = tutti_rules_next(carry_room.first + section, call->count, &from)) >= 0) {
        if (choice == CARRY_MPI)
            return NULL;
        if (rows[choice]->collectives >> call->collective & 1)
            return rows[choice];
    }
    return NULL;
}

/* ---- calls that no rank needs to count ----
 *
 * TUTTI_RULES and the defaults are the same on all ranks; the rules of a file need not be. */

enum { COMMON_ROWS = 128 };
static struct tutti_rule common_row[COMMON_ROWS];
static int common_rows;
static struct tutti_once common_once = TUTTI_ONCE_INIT;

static void common_read(const char *text)
{
    struct tutti_rule rule = {.section = -1};
    char wrong[320];
    while (common_rows < COMMON_ROWS && tutti_rule_read(&text, &rule, wrong, sizeof wrong) == 1) {
        if (rule.section >= carry_room.first && rule.section < carry_room.first + TUTTI_MOVER_SECTIONS)
            common_row[common_rows++] = rule;
    }
}

static void common_read_all(void)
{
    common_read(tutti_settings()->rules);
    common_read(tutti_rules_common());
}

int tutti_carry_may(enum tutti_collective collective, uint64_t bytes)
{
    const int section = carry_room.first + tutti_mover_rules_of(collective);
    tutti_once(&common_once, common_read_all);
    for (int i = 0; i < common_rows && section >= carry_room.first; i++) {
        const struct tutti_rule *rule = &common_row[i];
        if (rule->section != section || (bytes > 0 && (bytes < rule->least || bytes > rule->most)))
            continue;
        if (rule->choice != CARRY_MPI)
            return 1;
        if (bytes > 0)
            return 0;
    }
    return 0;
}

int tutti_carry_takes(int rules, const struct tutti_call *call)
{
    return tutti_carry_choose(rules, call) != NULL;
}
