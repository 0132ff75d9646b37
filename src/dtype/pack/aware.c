#include "dtype/aware.h"

#include <string.h>

#include "rules/rules.h"

enum { AWARE_HOST, AWARE_DEVICE, AWARE_PLACES };

static int aware_find(const char *name)
{
    static const char *const names[AWARE_PLACES] = {[AWARE_HOST] = "host", [AWARE_DEVICE] = "device"};
    int n = AWARE_PLACES;
    while (--n >= 0 && strcmp(names[n], name) != 0)
        ;
    return n;
}

static const struct tutti_names places = {"place of scratch", "host device", aware_find};
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
