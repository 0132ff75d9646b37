/* The grammar of rules: "allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged reduce: *@direct". Ranges count bytes of one
 * rank's contribution, or of a message, both ends included. One grammar for defaults, users and measured rules. It
 * knows no names: each section brings its own. */
#ifndef TUTTI_RULES_GRAMMAR_H
#define TUTTI_RULES_GRAMMAR_H

#include <stddef.h>

/* What the rules of a section name. */
struct tutti_names {
    const char *what;              /* "algorithm" */
    const char *known;             /* all of them, for messages */
    int (*find)(const char *name); /* its number, -1: no such name */
};
struct tutti_section_row {
    const char *name;
    const struct tutti_names *names;
};
struct tutti_sections {
    const struct tutti_section_row *row;
    int rows;
    const char *known; /* all names, for messages */
};

struct tutti_rule {
    int section; /* number of its row */
    size_t least, most;
    int choice; /* what it names, as the section's find() numbers it */
};

/* All of these are local. Reads one rule at *at; 1 read, 0 end of text, -1 wrong (said in `wrong`). rule->section
 * carries over; sections->rows: none yet. */
int tutti_rule_read(const struct tutti_sections *sections, const char **at, struct tutti_rule *rule, char *wrong,
                    size_t size);
/* TUTTI_OK, or TUTTI_ERR_SETTING and what is wrong with the text. */
int tutti_grammar_check(const struct tutti_sections *sections, const char *text, char *wrong, size_t size);
/* Number of the section with this name; sections->rows: no such section. */
int tutti_section_find(const struct tutti_sections *sections, const char *name);

#endif
