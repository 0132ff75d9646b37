/* Rules: "allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged reduce: *@direct". Ranges count bytes of one rank's
 * contribution, both ends included; of a section the first rule that fits and can run is taken. One grammar for
 * defaults, users and measured rules. */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/algorithm.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"

/* Where nothing else is said. Rows of leaders can run only where ranks share GPUs, the others only where they do not.
 */
static const struct {
    const char *device, *rules;
} defaults[] = {
    {"cuda", "allreduce:"
             " 0-256k@leader_oneshot *@leader *@leader_twoshot"
             " 0-128k@oneshot *@direct *@twoshot *@staged\n"
             "reduce:"
             " *@leader *@direct *@staged\n"
             "reduce_scatter:"
             " *@leader *@direct *@staged\n"
             "scan:"
             " *@leader *@direct *@staged\n"},
    {"host", "allreduce:"
             " 0-4k@leader_oneshot *@leader *@leader_twoshot"
             " 0-4k@oneshot *@direct *@twoshot *@staged\n"
             "reduce:"
             " *@leader *@direct *@staged\n"
             "reduce_scatter:"
             " *@leader *@direct *@staged\n"
             "scan:"
             " *@leader *@direct *@staged\n"},
};
static const char *const without_device =
    "allreduce: *@staged reduce: *@staged reduce_scatter: *@staged scan: *@staged";

static const char default_rules[] = "the defaults"; /* as a source of rules */
enum { DEFAULTS_MOST = 128 };                       /* rows that are kept for them */

static const char *const sections[TUTTI_SECTIONS] = {
    [TUTTI_SECTION_ALLREDUCE] = "allreduce",
    [TUTTI_SECTION_REDUCE] = "reduce",
    [TUTTI_SECTION_REDUCE_SCATTER] = "reduce_scatter",
    [TUTTI_SECTION_SCAN] = "scan",
};

struct rule {
    enum tutti_section section;
    size_t least, most;
    int algorithm;
};

enum tutti_section tutti_rules_section(enum tutti_collective collective)
{
    switch (collective) {
    case TUTTI_COLLECTIVE_ALLREDUCE:
        return TUTTI_SECTION_ALLREDUCE;
    case TUTTI_COLLECTIVE_REDUCE:
        return TUTTI_SECTION_REDUCE;
    case TUTTI_COLLECTIVE_REDUCE_SCATTER:
    case TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return TUTTI_SECTION_REDUCE_SCATTER;
    case TUTTI_COLLECTIVE_SCAN:
    case TUTTI_COLLECTIVE_EXSCAN:
        return TUTTI_SECTION_SCAN;
    default:
        return TUTTI_SECTIONS;
    }
}

static enum tutti_section section_by_name(const char *name)
{
    int i = 0;
    while (i < TUTTI_SECTIONS && strcmp(sections[i], name) != 0)
        i++;
    return (enum tutti_section)i;
}

static void say(char *wrong, size_t size, const char *what, const char *token, const char *right)
{
    if (size > 0)
        snprintf(wrong, size, "rules: %s '%.60s': %s", what, token, right);
}

static int read_bytes(const char **at, size_t *out)
{
    if (!isdigit((unsigned char)**at))
        return 0;
    size_t value = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (value > (SIZE_MAX - 9) / 10)
            return 0;
        value = value * 10 + (size_t)(**at - '0');
    }
    int shift = 0;
    switch (tolower((unsigned char)**at)) {
    case 'k':
        shift = 10;
        break;
    case 'm':
        shift = 20;
        break;
    case 'g':
        shift = 30;
        break;
    }
    if (shift) {
        (*at)++;
        if (value > SIZE_MAX >> shift)
            return 0;
        value <<= shift;
    }
    *out = value;
    return 1;
}

static int read_range(const char *at, struct rule *rule)
{
    rule->least = 0;
    rule->most = SIZE_MAX;
    if (strcmp(at, "*") == 0)
        return 1;
    if (!read_bytes(&at, &rule->least) || *at++ != '-')
        return 0;
    if (strcmp(at, "*") == 0)
        return 1;
    return read_bytes(&at, &rule->most) && *at == '\0' && rule->least <= rule->most;
}

static int algorithm_by_name(const char *name)
{
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        if (strcmp(tutti_algorithms[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* Reads one rule at *at; 1 read, 0 end of text, -1 wrong (said in `wrong`). rule->section carries over; TUTTI_SECTIONS:
 * none yet. */
static int read_rule(const char **at, struct rule *rule, char *wrong, size_t size)
{
    for (;;) {
        *at += strspn(*at, " \t\n,;");
        if (**at == '\0')
            return 0;
        char token[80];
        size_t length = strcspn(*at, " \t\n,;:");
        int names = (*at)[length] == ':';
        snprintf(token, sizeof token, "%.*s", (int)length, *at);
        *at += length + (size_t)names;
        if (names) {
            rule->section = section_by_name(token);
            if (rule->section == TUTTI_SECTIONS) {
                say(wrong, size, "no collective", token, "known are: allreduce, reduce, reduce_scatter, scan");
                return -1;
            }
            continue;
        }
        char *separator = strchr(token, '@');
        if (!separator || rule->section == TUTTI_SECTIONS) {
            say(wrong, size, "cannot read", token, "a rule is like 'allreduce: 0-8k@oneshot *@twoshot'");
            return -1;
        }
        *separator = '\0';
        rule->algorithm = algorithm_by_name(separator + 1);
        if (rule->algorithm < 0) {
            say(wrong, size, "no algorithm", separator + 1, "known are: "
#define TUTTI_ALGORITHM(name, order, text) #name " "
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
            );
            return -1;
        }
        if (!read_range(token, rule)) {
            say(wrong, size, "no range of bytes", token, "a range is like 0-8k, 8k-1m, 1m-* or *");
            return -1;
        }
        return 1;
    }
}

int tutti_rules_check(const char *text, char *wrong, size_t size)
{
    struct rule rule = {.section = TUTTI_SECTIONS};
    int more;
    while ((more = read_rule(&text, &rule, wrong, size)) == 1)
        ;
    return more == 0 ? TUTTI_OK : TUTTI_ERR_SETTING;
}

const char *tutti_rules_default(const char *device)
{
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        if (strcmp(defaults[i].device, device) == 0)
            return defaults[i].rules;
    }
    return without_device;
}

/* The user's rules, those measured here and the device's, read once: choosing must cost next to nothing. */
static struct rule table[512];
static int table_rows, table_defaults;
static uint32_t table_hash;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_table(const char *text, const char *from)
{
    struct rule rule = {.section = TUTTI_SECTIONS};
    char wrong[320];
    int more;
    while ((more = read_rule(&text, &rule, wrong, sizeof wrong)) == 1) {
        if (table_rows == (int)(sizeof table / sizeof table[0]) - DEFAULTS_MOST * (from != default_rules)) {
            tutti_warn("%s: too many rules: the first %d are used", from, table_rows);
            return;
        }
        table[table_rows++] = rule;
    }
    if (more < 0)
        tutti_warn("%s: %s; what follows is ignored", from, wrong);
}

static uint32_t hash_of(uint32_t hash, uint64_t word)
{
    for (int i = 0; i < 8; i++, word >>= 8)
        hash = (hash ^ (uint32_t)(word & 0xff)) * 16777619u;
    return hash;
}

static void read_measured(void)
{
    char path[1024], device[256], wrong[320] = "";
    char *rules = malloc(TUTTI_RULES_BYTES);
    if (rules && tutti_rules_path(path, sizeof path) == TUTTI_OK &&
        tutti_rules_device(device, sizeof device) == TUTTI_OK) {
        if (tutti_rules_load(path, device, rules, TUTTI_RULES_BYTES, wrong, sizeof wrong) == TUTTI_OK)
            read_table(rules, path);
        else
            tutti_warn("%s: %s; the file is ignored", path, wrong);
    }
    free(rules);
}

static void read_tables(void)
{
    const struct tutti_device *device = tutti_device();
    read_table(tutti_settings()->rules, "TUTTI_RULES");
    read_measured();
    table_defaults = table_rows;
    read_table(tutti_rules_default(device ? device->name : "none"), default_rules);
    table_hash = 2166136261u;
    for (int i = 0; i < table_rows; i++) {
        table_hash = hash_of(table_hash, (uint64_t)table[i].section << 32 | (uint64_t)table[i].algorithm);
        table_hash = hash_of(hash_of(table_hash, table[i].least), table[i].most);
    }
}

int tutti_rules_next(enum tutti_section section, size_t bytes, int *from)
{
    pthread_once(&once, read_tables);
    for (int i = *from; i < table_rows; i++) {
        if (table[i].section != section || bytes < table[i].least || bytes > table[i].most)
            continue;
        *from = i + 1;
        return table[i].algorithm;
    }
    return -1;
}

uint32_t tutti_rules_hash(int *defaults_from)
{
    pthread_once(&once, read_tables);
    *defaults_from = table_defaults;
    return table_hash;
}

const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus)
{
    static const enum tutti_collective examples[TUTTI_SECTIONS] = {
        [TUTTI_SECTION_ALLREDUCE] = TUTTI_COLLECTIVE_ALLREDUCE,
        [TUTTI_SECTION_REDUCE] = TUTTI_COLLECTIVE_REDUCE,
        [TUTTI_SECTION_REDUCE_SCATTER] = TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        [TUTTI_SECTION_SCAN] = TUTTI_COLLECTIVE_SCAN,
    };
    enum tutti_section section = section_by_name(collective);
    if (section == TUTTI_SECTIONS)
        return "none";
    int from = 0, algorithm;
    struct tutti_team team = {.size = ranks, .gpus = gpus};
    struct tutti_reduce call = {.collective = examples[section], .count = bytes, .type = TUTTI_TYPE_U8};
    while ((algorithm = tutti_rules_next(section, bytes, &from)) >= 0) {
        if (tutti_algorithms[algorithm].can(&team, &call))
            return tutti_algorithms[algorithm].name;
    }
    return "staged";
}
