/* The grammar of rules: "allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged reduce: *@direct". Ranges count bytes of one
 * rank's contribution, or of a message, both ends included. A rule for some numbers of ranks alone has them behind the
 * range: "384k-1m/2@ll128", "1m-8m/3-8@twoshot". One grammar for defaults, users and measured rules. It knows no names:
 * each section brings its own. */
#ifndef TUTTI_RULES_GRAMMAR_H
#define TUTTI_RULES_GRAMMAR_H

#include <stddef.h>

/* What the rules of a section name. */
struct tutti_names {
    const char *what;              /* "algorithm" */
    const char *known;             /* all of them, for messages; without find(), in the order of their numbers */
    int (*find)(const char *name); /* its number, -1: no such name. NULL: its place in `known` */
};
struct tutti_section {
    const char *name;
    const struct tutti_names *names;
};
/* The sections of a room, which registers them from a constructor: nothing has read rules then, and no thread runs. */
struct tutti_rules_room {
    const struct tutti_section *section;
    int sections;
    int by_ranks;      /* 1: its rules may hold for some numbers of ranks alone */
    const char *known; /* all names, for messages */
    int first;         /* number of the first section; set by tutti_rules_register() */
    struct tutti_rules_room *next;
};
enum { TUTTI_SECTIONS_MOST = 96 }; /* of all rooms: tables of them have a place for each */
void tutti_rules_register(struct tutti_rules_room *room);
/* The room of a file with one section, at file scope: the section's name, then the fields of what its rules name. The
 * number of the section is room.first. */
#define TUTTI_RULES_SECTION(room, name, ...)                                                                           \
    static const struct tutti_names room##_names = {__VA_ARGS__};                                                      \
    static const struct tutti_section room##_section = {name, &room##_names};                                          \
    static struct tutti_rules_room room = {.section = &room##_section, .sections = 1, .known = name};                  \
    __attribute__((constructor)) static void room##_register(void)                                                     \
    {                                                                                                                  \
        tutti_rules_register(&room);                                                                                   \
    }

struct tutti_rule {
    int section; /* its number; -1: none yet */
    size_t least, most;
    int ranks_least, ranks_most; /* 0 and INT_MAX: any number */
    int choice;                  /* number of what it names */
};

/* All of these are local. Reads one rule at *at; 1 read, 0 end of text, -1 wrong (said in `wrong`). rule->section
 * carries over; -1: none yet. */
int tutti_rule_read(const char **at, struct tutti_rule *rule, char *wrong, size_t size);
/* TUTTI_OK, or TUTTI_ERR_SETTING and what is wrong with the text. */
int tutti_grammar_check(const char *text, char *wrong, size_t size);
/* Number of the section with this name; -1: no such section. at: the section of a number. known: "known are: " and the
 * names of all. */
int tutti_section_find(const char *name);
const struct tutti_section *tutti_section_at(int section);
int tutti_section_by_ranks(int section);
void tutti_sections_known(char *text, size_t size);

#endif
