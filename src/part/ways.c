/* The rules of the section `partitioned`: how partitions travel that kernels mark, by the bytes of a partition. */
#include "part/own.h"
#include "rules/rules.h"

enum way { WAY_KERNEL, WAY_ENGINE }; /* in the order of the names */

static const struct tutti_names ways = {.what = "way of partitions that kernels mark", .known = "kernel engine"};
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
