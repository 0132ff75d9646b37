#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "core/status.h"
#include "rules/grammar.h"

static void grammar_say(char *wrong, size_t size, const char *what, const char *token, const char *right)
{
    if (size > 0)
        snprintf(wrong, size, "rules: %s '%.60s': %s", what, token, right);
}

static int read_bytes(const char *at, struct tutti_rule *rule)
{
    rule->least = 0;
    rule->most = SIZE_MAX;
    if (strcmp(at, "*") == 0)
        return 1;
    if (!tutti_size_read(&at, &rule->least) || *at++ != '-')
        return 0;
    if (strcmp(at, "*") == 0)
        return 1;
    return tutti_size_read(&at, &rule->most) && *at == '\0' && rule->least <= rule->most;
}

/* "2", "2-4" or "2-*", from 1 on. */
static int rule_read_ranks(const char *at, struct tutti_rule *rule)
{
    size_t least, most;
    if (!tutti_size_read(&at, &least) || least < 1 || least > INT_MAX)
        return 0;
    rule->ranks_least = (int)least;
    rule->ranks_most = *at == '-' ? INT_MAX : (int)least;
    if (*at == '\0' || strcmp(at, "-*") == 0)
        return 1;
    if (*at++ != '-' || !tutti_size_read(&at, &most) || *at || most < least || most > INT_MAX)
        return 0;
    rule->ranks_most = (int)most;
    return 1;
}

/* The part before the name: a range of bytes, and of ranks behind a slash. */
static int read_ranges(char *token, struct tutti_rule *rule, char *wrong, size_t size)
{
    char *ranks = strchr(token, '/');
    rule->ranks_least = 0;
    rule->ranks_most = INT_MAX;
    if (ranks && !tutti_section_by_ranks(rule->section)) {
        grammar_say(wrong, size, "no number of ranks", token, "rules of this section hold for any");
        return 0;
    }
    if (ranks && !rule_read_ranks(ranks + 1, rule)) {
        grammar_say(wrong, size, "no number of ranks", token, "it is like 0-8k/2, 0-8k/2-4 or */5-*");
        return 0;
    }
    if (ranks)
        *ranks = '\0';
    if (read_bytes(token, rule))
        return 1;
    grammar_say(wrong, size, "no range of bytes", token, "a range is like 0-8k, 8k-1m, 1m-* or *");
    return 0;
}

/* The place of a name in a text of names; -1: it is not there. */
static int grammar_place(const char *known, const char *name)
{
    for (int n = 0;; n++) {
        known += strspn(known, " ");
        const size_t length = strcspn(known, " ");
        if (length == 0)
            return -1;
        if (strlen(name) == length && strncmp(known, name, length) == 0)
            return n;
        known += length;
    }
}

static int read_name(const struct tutti_names *names, const char *name, struct tutti_rule *rule, char *wrong,
                     size_t size)
{
    rule->choice = names->find ? names->find(name) : grammar_place(names->known, name);
    if (rule->choice >= 0)
        return 1;
    char what[48], known[256];
    snprintf(what, sizeof what, "no %s", names->what);
    snprintf(known, sizeof known, "known are: %s", names->known);
    grammar_say(wrong, size, what, name, known);
    return 0;
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
            rule->section = tutti_section_find(token);
            if (rule->section < 0) {
                char known[256];
                tutti_sections_known(known, sizeof known);
                grammar_say(wrong, size, "no collective", token, known);
                return -1;
            }
            continue;
        }
        char *separator = strchr(token, '@');
        if (!separator || rule->section < 0) {
            grammar_say(wrong, size, "cannot read", token, "a rule is like 'allreduce: 0-8k@oneshot *@twoshot'");
            return -1;
        }
        *separator = '\0';
        if (!read_name(tutti_section_at(rule->section)->names, separator + 1, rule, wrong, size) ||
            !read_ranges(token, rule, wrong, size))
            return -1;
        return 1;
    }
}

int tutti_grammar_check(const char *text, char *wrong, size_t size)
{
    struct tutti_rule rule = {.section = -1};
    int more;
    while ((more = tutti_rule_read(&text, &rule, wrong, size)) == 1)
        ;
    return more == 0 ? TUTTI_OK : TUTTI_ERR_SETTING;
}
