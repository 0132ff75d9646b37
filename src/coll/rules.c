/* Rules: "allreduce: 0-8k@oneshot 8k-1m@twoshot *@staged". Ranges count bytes of one rank's contribution, both ends
 * included; the first rule that fits and can run is taken. One grammar for defaults, users and measured rules. */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "coll/algorithm.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"

static const struct {
    const char *device, *rules;
} defaults[] = {
    {"cuda", "allreduce: *@leader 0-128k@oneshot *@direct *@twoshot *@staged"},
    {"host", "allreduce: *@leader 0-4k@oneshot *@direct *@twoshot *@staged"},
};

static const char *const collectives[] = {"allreduce"};

struct rule {
    char collective[32];
    size_t least, most;
    int algorithm;
};

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

/* Reads one rule at *at; 1 read, 0 end of text, -1 wrong (said in `wrong`). rule->collective carries over. */
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
            int known = 0;
            for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
                known |= strcmp(collectives[i], token) == 0;
            if (!known) {
                say(wrong, size, "no collective", token, "known is: allreduce");
                return -1;
            }
            snprintf(rule->collective, sizeof rule->collective, "%.31s", token);
            continue;
        }
        char *separator = strchr(token, '@');
        if (!separator || rule->collective[0] == '\0') {
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
    struct rule rule = {.collective = ""};
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
    return "allreduce: *@staged";
}

/* The user's rules and then the device's, read once: choosing must cost next to nothing. */
static struct rule table[128];
static int table_rows;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_table(const char *text, const char *from)
{
    struct rule rule = {.collective = ""};
    char wrong[160];
    int more;
    while ((more = read_rule(&text, &rule, wrong, sizeof wrong)) == 1) {
        if (table_rows == (int)(sizeof table / sizeof table[0])) {
            tutti_warn("%s has too many rules: the first %d are used", from, table_rows);
            return;
        }
        table[table_rows++] = rule;
    }
    if (more < 0)
        tutti_warn("%s: %s; what follows is ignored", from, wrong);
}

static void read_tables(void)
{
    const struct tutti_device *device = tutti_device();
    read_table(tutti_settings()->rules, "TUTTI_RULES");
    read_table(tutti_rules_default(device ? device->name : "none"), "the defaults");
}

int tutti_rules_next(const char *collective, size_t bytes, int *from)
{
    pthread_once(&once, read_tables);
    for (int i = *from; i < table_rows; i++) {
        if (bytes < table[i].least || bytes > table[i].most || strcmp(table[i].collective, collective) != 0)
            continue;
        *from = i + 1;
        return table[i].algorithm;
    }
    return -1;
}

const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus)
{
    int from = 0, algorithm;
    struct tutti_team team = {.size = ranks, .gpus = gpus};
    struct tutti_reduce call = {.count = bytes, .type = TUTTI_TYPE_U8};
    while ((algorithm = tutti_rules_next(collective, bytes, &from)) >= 0) {
        if (tutti_algorithms[algorithm].can(&team, &call))
            return tutti_algorithms[algorithm].name;
    }
    return "staged";
}
