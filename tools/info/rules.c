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

/* What rules may name, by the sections that know it. */
#define RULE_ALGORITHMS "Algorithms: allreduce, reduce, reduce_scatter, scan; with _enqueue for calls in stream order"
#define RULE_MOVES                                                                                                     \
    "Data movers: bcast, gather, scatter, allgather, alltoall, neighbor, moves_nonblocking, moves_mixed, "             \
    "moves_mixed_root, moves_pinned, moves_pinned_root, moves_mixed_leaders; or mpi"
#define RULE_PROTOCOLS "Messages: message, message_far (to other nodes)"
#define RULE_NODES     "Reductions over nodes: allreduce_nodes, reduce_nodes, reduce_scatter_nodes, scan_nodes; or mpi"
#define RULE_LEADERS   "Exchanges of leaders: leaders"
#define RULE_CARRIES                                                                                                   \
    "Data movers over nodes: bcast_nodes, gather_nodes, scatter_nodes, allgather_nodes, alltoall_nodes, "              \
    "neighbor_nodes; or mpi"
#define RULE_PARTITIONED "Partitioned collectives: partitioned_bcast, partitioned_allgather, partitioned_reduce"

static const struct {
    const char *of, *name, *text;
} rule_names[] = {
#define TUTTI_ALGORITHM(name_, order, text_) {RULE_ALGORITHMS, #name_, text_},
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
#define TUTTI_MOVE(name_, order, text_) {RULE_MOVES, #name_, text_},
#include "tutti/moves.def"
#undef TUTTI_MOVE
#define TUTTI_PROTOCOL(name_, node, far, outcome, reason, text_) {RULE_PROTOCOLS, #name_, text_},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
#define TUTTI_NODES(name_, text_) {RULE_NODES, #name_, text_},
#include "tutti/nodes.def"
#define TUTTI_EXCHANGE(name_, text_) {RULE_LEADERS, #name_, text_},
#include "tutti/nodes.def"
#define TUTTI_CARRY(name_, text_) {RULE_CARRIES, #name_, text_},
#include "tutti/nodes.def"
#define TUTTI_PCOLL(id, name_, text_) {RULE_PARTITIONED, name_, text_},
#include "tutti/pcoll.def"
};

static void rules_names_print(void)
{
    for (size_t i = 0; i < sizeof rule_names / sizeof rule_names[0]; i++) {
        if (i == 0 || strcmp(rule_names[i].of, rule_names[i - 1].of) != 0)
            printf("\n%s\n", rule_names[i].of);
        printf("  %-14s %s\n", rule_names[i].name, rule_names[i].text);
    }
    puts("\nAll sections, also those of two or three ways: docs/tuning.md");
}

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
    rules_names_print();
}
