/* tutti info --rules: rules in force, and where they come from. */
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "tools/info/info.h"

void info_rules_read(struct info *info)
{
    struct info_rules *out = &info->measured;
    if (tutti_rules_path(out->path, sizeof out->path) != TUTTI_OK) {
        snprintf(out->why, sizeof out->why, "there is no home folder, and TUTTI_RULES_FILE is not set");
        return;
    }
    if (tutti_rules_device(out->entry, sizeof out->entry) != TUTTI_OK) {
        snprintf(out->why, sizeof out->why, "not read: there is no device");
        return;
    }
    if (tutti_rules_load(out->path, out->entry, out->rules, sizeof out->rules, out->why, sizeof out->why) != TUTTI_OK) {
        size_t used = strlen(info->wrong);
        snprintf(info->wrong + used, sizeof info->wrong - used, "%s: %s; the file is ignored\n", out->path, out->why);
        out->rules[0] = '\0';
    } else if (!out->rules[0]) {
        snprintf(out->why, sizeof out->why, "none for this device: tutti tune measures them");
    }
}

/* A text of several lines, the first behind its name. */
static void print_lines(const char *name, const char *text)
{
    printf("  %-12s ", name);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        char line[512], shown[1024];
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        printf("%s%s\n", at == text ? "" : "               ", tutti_plain(line, shown, sizeof shown));
        at += n;
        at += strspn(at, "\n");
    }
    if (!*text)
        puts("(empty)");
}

static const struct {
    const char *name, *text;
} algorithm_list[] = {
#define TUTTI_ALGORITHM(name_, order, text_) {#name_, text_},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};

void info_rules_print(const struct info *info)
{
    const struct info_rules *measured = &info->measured;
    puts("Rules, from top to bottom: the first that fits and can run is taken");
    print_lines("TUTTI_RULES", tutti_settings()->rules);
    print_lines("measured", measured->rules[0] ? measured->rules : measured->why);
    if (measured->path[0])
        printf("               (%s%s%s)\n", measured->path, measured->entry[0] ? ", for " : "", measured->entry);
    print_lines("defaults", info->rules);
    print_lines("", tutti_rules_common());
    puts("\nAlgorithms");
    for (size_t i = 0; i < sizeof algorithm_list / sizeof algorithm_list[0]; i++)
        printf("  %-14s %s\n", algorithm_list[i].name, algorithm_list[i].text);
}
