/* The sections of rules that rooms have registered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/grammar.h"

static struct tutti_rules_room *rooms, **last = &rooms;
static int sections;

/* A build whose rooms have more sections than the tables ends at the start of any program. */
void tutti_rules_register(struct tutti_rules_room *room)
{
    if (sections + room->sections > TUTTI_SECTIONS_MOST) {
        fprintf(stderr, "tutti: more than %d sections of rules: raise TUTTI_SECTIONS_MOST\n", TUTTI_SECTIONS_MOST);
        abort();
    }
    room->first = sections;
    sections += room->sections;
    room->next = NULL;
    *last = room;
    last = &room->next;
}

int tutti_section_find(const char *name)
{
    for (const struct tutti_rules_room *room = rooms; room; room = room->next) {
        for (int i = 0; i < room->sections; i++) {
            if (strcmp(room->section[i].name, name) == 0)
                return room->first + i;
        }
    }
    return -1;
}

static const struct tutti_rules_room *section_room(int section)
{
    const struct tutti_rules_room *room = rooms;
    while (section >= room->first + room->sections)
        room = room->next;
    return room;
}

const struct tutti_section *tutti_section_at(int section)
{
    const struct tutti_rules_room *room = section_room(section);
    return &room->section[section - room->first];
}

int tutti_section_by_ranks(int section)
{
    return section_room(section)->by_ranks;
}

void tutti_sections_known(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "known are:");
    for (const struct tutti_rules_room *room = rooms; room && used < size; room = room->next)
        used += (size_t)snprintf(text + used, size - used, "%s %s", room == rooms ? "" : ",", room->known);
}
