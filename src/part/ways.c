/* The rules of the section `partitioned`: how partitions travel that kernels mark, by the bytes of a partition. */
#include <string.h>

#include "part/own.h"
#include "rules/rules.h"

enum way { WAY_ENGINE, WAY_KERNEL, WAYS };

static int way_find(const char *name)
{
    static const char *const names[WAYS] = {[WAY_ENGINE] = "engine", [WAY_KERNEL] = "kernel"};
    int n = WAYS;
    while (--n >= 0 && strcmp(names[n], name) != 0)
        ;
    return n;
}

static const struct tutti_names ways = {"way of partitions that kernels mark", "kernel engine", way_find};
static const struct tutti_section section = {"partitioned", &ways};
static struct tutti_rules_room room = {.section = &section, .sections = 1, .known = "partitioned"};

__attribute__((constructor)) static void ways_register(void)
{
    tutti_rules_register(&room);
}

int tutti_part_kernels_may_store(void)
{
    return tutti_rules_choose(room.first, WAY_KERNEL);
}

int tutti_part_kernels_store(uint64_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(room.first, bytes, &from) == WAY_KERNEL;
}
