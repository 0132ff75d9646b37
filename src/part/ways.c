/* The rules of the section `partitioned`: how partitions travel that kernels mark, by the bytes of a partition. */
#include "part/own.h"
#include "rules/rules.h"

enum way { WAY_KERNEL, WAY_ENGINE }; /* in the order of the names */
TUTTI_RULES_SECTION(way_rules, "partitioned", .what = "way of partitions that kernels mark", .known = "kernel engine")

int tutti_part_kernels_may_store(void)
{
    return tutti_rules_choose(way_rules.first, WAY_KERNEL);
}

int tutti_part_kernels_store(uint64_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(way_rules.first, bytes, &from) == WAY_KERNEL;
}
