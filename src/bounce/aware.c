/* Where types with gaps are packed for a GPU-aware MPI, by the rules of the section aware. */
#include <string.h>

#include "bounce/bounce.h"
#include "rules/rules.h"

enum { AWARE_HOST, AWARE_DEVICE };

static int aware_find(const char *name)
{
    return strcmp(name, "host") == 0 ? AWARE_HOST : strcmp(name, "device") == 0 ? AWARE_DEVICE : -1;
}

static const struct tutti_names places = {"place of scratch", "host device", aware_find};
static const struct tutti_section section = {"aware", &places};
static struct tutti_rules_room room = {.section = &section, .sections = 1, .known = "aware"};

__attribute__((constructor)) static void aware_register(void)
{
    tutti_rules_register(&room);
}

int tutti_bounce_aware_on_device(size_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(room.first, bytes, &from) == AWARE_DEVICE;
}
