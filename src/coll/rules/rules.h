/* The grammar of rules. Private to coll/. */
#ifndef TUTTI_COLL_RULES_H
#define TUTTI_COLL_RULES_H

#include "coll/algorithm.h"

struct tutti_rule {
    enum tutti_section section;
    size_t least, most;
    int algorithm; /* of the sections of messages: a way */
};

/* Reads one rule at *at; 1 read, 0 end of text, -1 wrong (said in `wrong`). rule->section carries over; TUTTI_SECTIONS:
 * none yet. */
int tutti_rule_read(const char **at, struct tutti_rule *rule, char *wrong, size_t size);
/* TUTTI_SECTIONS: there is none of this name. */
enum tutti_section tutti_section_by_name(const char *name);

#endif
