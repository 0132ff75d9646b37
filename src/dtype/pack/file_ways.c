#include "dtype/file_ways.h"

#include "rules/rules.h"

enum { SECTION_WRITE, SECTION_READ, SECTIONS };

/* In the order of enum tutti_file_way. */
static const struct tutti_names ways = {.what = "way of a file access", .known = "whole kernel pieces even"};
static const struct tutti_section sections[SECTIONS] = {
    [SECTION_WRITE] = {"file_write", &ways}, [SECTION_READ] = {"file_read", &ways}};
static struct tutti_rules_room room = {.section = sections, .sections = SECTIONS, .known = "file_write, file_read"};

__attribute__((constructor)) static void file_ways_register(void)
{
    tutti_rules_register(&room);
}

enum tutti_file_way tutti_file_way(int writes, size_t bytes)
{
    int from = tutti_rules_in_force();
    const int found = tutti_rules_next(room.first + (writes ? SECTION_WRITE : SECTION_READ), bytes, &from);
    return found < 0 ? TUTTI_FILE_WHOLE : (enum tutti_file_way)found;
}
