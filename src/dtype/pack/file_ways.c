#include "dtype/file_ways.h"

#include <string.h>

#include "rules/rules.h"

enum { SECTION_WRITE, SECTION_READ, SECTIONS };

static int way_find(const char *name)
{
    static const char *const names[] = {[TUTTI_FILE_WHOLE] = "whole",
                                        [TUTTI_FILE_KERNEL] = "kernel",
                                        [TUTTI_FILE_PIECES] = "pieces",
                                        [TUTTI_FILE_EVEN] = "even"};
    int n = sizeof names / sizeof names[0];
    while (--n >= 0 && strcmp(names[n], name) != 0)
        ;
    return n;
}

static const struct tutti_names ways = {"way of a file access", "whole kernel pieces even", way_find};
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
