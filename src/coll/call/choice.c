/* The rules of reductions: their sections, and the choice by them. The first rule of a section that fits and can run
 * is taken; calls in stream order search the section with _enqueue first. */
#include "coll/algorithm.h"
#include "core/types.h"

enum choice_section {
    CHOICE_ALLREDUCE,
    CHOICE_REDUCE,
    CHOICE_REDUCE_SCATTER, /* both kinds */
    CHOICE_SCAN,           /* both kinds */
    CHOICE_ALLREDUCE_ENQUEUE,
    CHOICE_REDUCE_ENQUEUE,
    CHOICE_REDUCE_SCATTER_ENQUEUE,
    CHOICE_SCAN_ENQUEUE,
    CHOICES
};

static const struct tutti_names algorithms = {
    .what = "algorithm",
#define TUTTI_ALGORITHM(name, order, text) #name " "
    .known =
#include "tutti/algorithms.def"
        ,
#undef TUTTI_ALGORITHM
};

static const struct tutti_section sections[CHOICES] = {
    [CHOICE_ALLREDUCE] = {"allreduce", &algorithms},
    [CHOICE_REDUCE] = {"reduce", &algorithms},
    [CHOICE_REDUCE_SCATTER] = {"reduce_scatter", &algorithms},
    [CHOICE_SCAN] = {"scan", &algorithms},
    [CHOICE_ALLREDUCE_ENQUEUE] = {"allreduce_enqueue", &algorithms},
    [CHOICE_REDUCE_ENQUEUE] = {"reduce_enqueue", &algorithms},
    [CHOICE_REDUCE_SCATTER_ENQUEUE] = {"reduce_scatter_enqueue", &algorithms},
    [CHOICE_SCAN_ENQUEUE] = {"scan_enqueue", &algorithms},
};

static struct tutti_rules_room room = {.section = sections,
                                       .sections = CHOICES,
                                       .by_ranks = 1,
                                       .known = "allreduce, reduce, reduce_scatter, scan, the same with _enqueue"};

__attribute__((constructor)) static void choice_register(void)
{
    tutti_rules_register(&room);
}

static enum choice_section choice_of(enum tutti_collective collective)
{
    switch (collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        return CHOICE_ALLREDUCE;
    case TUTTI_COLLECTIVE_REDUCE:
        return CHOICE_REDUCE;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return CHOICE_REDUCE_SCATTER;
    case TUTTI_COLLECTIVE_SCAN:
    case TUTTI_COLLECTIVE_EXSCAN:
        return CHOICE_SCAN;
    default:
        return CHOICES;
    }
}

int tutti_rules_section(enum tutti_collective collective)
{
    const enum choice_section section = choice_of(collective);
    return section == CHOICES ? -1 : room.first + (int)section;
}

int tutti_rules_section_enqueue(enum tutti_collective collective)
{
    const int section = tutti_rules_section(collective);
    return section < 0 ? -1 : section + CHOICE_ALLREDUCE_ENQUEUE;
}

const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus)
{
    static const enum tutti_collective examples[CHOICE_ALLREDUCE_ENQUEUE] = {
        [CHOICE_ALLREDUCE] = TUTTI_COLLECTIVE_ALLREDUCE,
        [CHOICE_REDUCE] = TUTTI_COLLECTIVE_REDUCE,
        [CHOICE_REDUCE_SCATTER] = TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        [CHOICE_SCAN] = TUTTI_COLLECTIVE_SCAN,
    };
    const int section = tutti_section_find(collective);
    if (section < room.first || section >= room.first + CHOICE_ALLREDUCE_ENQUEUE)
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
        for (int s = 0; s < (in_stream ? CHOICES : CHOICE_ALLREDUCE_ENQUEUE) && row->prepare; s++)
            named |= tutti_rules_choose(room.first + s, algorithm);
        if (named)
            row->prepare(team, in_stream);
    }
}
