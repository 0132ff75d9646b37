/* Rules: "allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged reduce: *@direct". Ranges count bytes of one rank's
 * contribution, or of a message, both ends included; of a section the first rule that fits and can run is taken. Calls
 * in stream order look into the section with _enqueue first. One grammar for defaults, users and measured rules. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "coll/rules/rules.h"
#include "core/status.h"

static const char *const sections[TUTTI_SECTIONS] = {
    [TUTTI_SECTION_ALLREDUCE] = "allreduce",
    [TUTTI_SECTION_REDUCE] = "reduce",
    [TUTTI_SECTION_REDUCE_SCATTER] = "reduce_scatter",
    [TUTTI_SECTION_SCAN] = "scan",
    [TUTTI_SECTION_ALLREDUCE_ENQUEUE] = "allreduce_enqueue",
    [TUTTI_SECTION_REDUCE_ENQUEUE] = "reduce_enqueue",
    [TUTTI_SECTION_REDUCE_SCATTER_ENQUEUE] = "reduce_scatter_enqueue",
    [TUTTI_SECTION_SCAN_ENQUEUE] = "scan_enqueue",
    [TUTTI_SECTION_MESSAGE] = "message",
    [TUTTI_SECTION_MESSAGE_FAR] = "message_far",
};

enum tutti_section tutti_section_by_name(const char *name)
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

static int read_range(const char *at, struct tutti_rule *rule)
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

int tutti_rule_read(const char **at, struct tutti_rule *rule, char *wrong, size_t size)
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
            rule->section = tutti_section_by_name(token);
            if (rule->section == TUTTI_SECTIONS) {
                say(wrong, size, "no collective", token,
                    "known are: allreduce, reduce, reduce_scatter, scan, the same with _enqueue, message and "
                    "message_far");
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
        const int message = rule->section >= TUTTI_SECTION_MESSAGE;
        rule->algorithm = message ? tutti_protocol_find(separator + 1, rule->section == TUTTI_SECTION_MESSAGE_FAR)
                                  : algorithm_by_name(separator + 1);
        if (rule->algorithm < 0 && message) {
            say(wrong, size, "no way of messages", separator + 1,
                rule->section == TUTTI_SECTION_MESSAGE ? "known are: staged packed direct"
                                                       : "known are: staged pipelined");
            return -1;
        }
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
    struct tutti_rule rule = {.section = TUTTI_SECTIONS};
    int more;
    while ((more = tutti_rule_read(&text, &rule, wrong, size)) == 1)
        ;
    return more == 0 ? TUTTI_OK : TUTTI_ERR_SETTING;
}
