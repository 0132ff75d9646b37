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

const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus)
{
    static const enum tutti_collective examples[CHOICE_ENQUEUE] = {
        [TUTTI_REDUCTION_RULES_ALLREDUCE] = TUTTI_COLLECTIVE_ALLREDUCE,
        [TUTTI_REDUCTION_RULES_REDUCE] = TUTTI_COLLECTIVE_REDUCE,
        [TUTTI_REDUCTION_RULES_REDUCE_SCATTER] = TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        [TUTTI_REDUCTION_RULES_SCAN] = TUTTI_COLLECTIVE_SCAN,
    };
    const int section = tutti_section_find(collective);
    if (section < room.first || section >= room.first + CHOICE_ENQUEUE)
        return "none";
    int from, end, algorithm;
    struct tutti_team team = {.size = ranks, .gpus = gpus, .lines = 1};
    struct tutti_call call = {.collective = examples[section - room.first], .count = bytes, .type = TUTTI_TYPE_U8};
    tutti_rules_hash(&from, &end);
    while ((algorithm = tutti_rules_next_of(section, bytes, ranks, &from)) >= 0) {
        if (tutti_algorithm_can(tutti_algorithms[algorithm], &team, &call))
            return tutti_algorithms[algorithm]->name;
    }
    return tutti_algorithm_last()->name;
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
