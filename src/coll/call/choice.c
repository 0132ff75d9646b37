/* The rules of reductions: their sections, and the choice by them. The first rule of a section that fits and can run
 * is taken; calls in stream order search the section with _enqueue first. */
#include "coll/algorithm.h"
#include "coll/sections.h"
#include "core/types.h"

/* The sections of collectives.def, and behind them the same for calls in stream order. */
enum { CHOICE_ENQUEUE = TUTTI_REDUCTION_SECTIONS, CHOICES = 2 * CHOICE_ENQUEUE };

static const struct tutti_names algorithms = {
    .what = "algorithm",
#define TUTTI_ALGORITHM(name, order, text) #name " "
    .known =
#include "tutti/algorithms.def"
        ,
#undef TUTTI_ALGORITHM
};

static const struct tutti_section sections[CHOICES] = {
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_REDUCTION_RULES(ID, name)                                                                                \
    [TUTTI_REDUCTION_RULES_##ID] = {name, &algorithms},                                                                \
    [TUTTI_REDUCTION_RULES_##ID + CHOICE_ENQUEUE] = {name "_enqueue", &algorithms},
#include "tutti/collectives.def"
};

static struct tutti_rules_room room = {.section = sections,
                                       .sections = CHOICES,
                                       .by_ranks = 1,
                                       .known = "allreduce, reduce, reduce_scatter, scan, the same with _enqueue"};

__attribute__((constructor)) static void choice_register(void)
{
    tutti_rules_register(&room);
}

int tutti_rules_section(enum tutti_collective collective)
{
    const int section = tutti_reduction_rules_of(collective);
    return section < 0 ? -1 : room.first + section;
}

int tutti_rules_section_enqueue(enum tutti_collective collective)
{
    const int section = tutti_rules_section(collective);
    return section < 0 ? -1 : section + CHOICE_ENQUEUE;
}

/* Streams that a row takes are made here: the driver may let a call that makes one wait for kernels in the program's
 * streams. If those wait for ranks that wait for this one in a later call, none would end. */
void tutti_rows_prepare(struct tutti_team *team, int in_stream)
{
    for (int algorithm = 0; algorithm < TUTTI_ALGORITHMS; algorithm++) {
        const struct tutti_algorithm *row = tutti_algorithms[algorithm];
        int named = 0;
        for (int s = 0; s < (in_stream ? CHOICES : CHOICE_ENQUEUE) && row->prepare; s++)
            named |= tutti_rules_choose(room.first + s, algorithm);
        if (named)
            row->prepare(team, in_stream);
    }
}
