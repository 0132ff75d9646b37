#include "dtype/aware.h"

#include "rules/rules.h"

enum { AWARE_HOST, AWARE_DEVICE }; /* in the order of the names */
TUTTI_RULES_SECTION(aware_rules, "aware", .what = "place of scratch", .known = "host device")

int tutti_aware_on_device(size_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(aware_rules.first, bytes, &from) == AWARE_DEVICE;
}
