#include "dtype/aware.h"

#include "rules/rules.h"

enum { AWARE_HOST, AWARE_DEVICE }; /* in the order of the names */

static const struct tutti_names places = {.what = "place of scratch", .known = "host device"};
static const struct tutti_section section = {"aware", &places};
static struct tutti_rules_room room = {.section = &section, .sections = 1, .known = "aware"};

__attribute__((constructor)) static void aware_register(void)
{
    tutti_rules_register(&room);
}

int tutti_aware_on_device(size_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(room.first, bytes, &from) == AWARE_DEVICE;
}
