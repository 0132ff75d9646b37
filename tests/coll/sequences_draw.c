#include "sequences.h"

#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "support/random.h"

static unsigned below(uint64_t *dice, unsigned n)
{
    return (unsigned)(random_next(dice) % n);
}

/* ---- groups ---- */

static void add_group(struct seq_group *out, int *n, int size, const int world[])
{
    if (*n == SEQ_GROUPS)
        return;
    out[*n].size = size;
    memcpy(out[(*n)++].world, world, (size_t)size * sizeof world[0]);
}

/* All ranks in order, backwards and turned, and parts of them. */
int seq_groups(int ranks, struct seq_group out[SEQ_GROUPS])
{
    int n = 0, there[SEQ_RANKS] = {0}, back[SEQ_RANKS] = {0}, turned[SEQ_RANKS] = {0};
    for (int r = 0; r < ranks; r++) {
        there[r] = r;
        back[r] = ranks - 1 - r;
        turned[r] = (r + 1) % ranks;
    }
    add_group(out, &n, ranks, there);
    add_group(out, &n, ranks, back);
    if (ranks < 3)
        return n;
    add_group(out, &n, ranks, turned);
    add_group(out, &n, ranks - 1, there);
    add_group(out, &n, ranks - 1, back);
    add_group(out, &n, 2, turned);
    add_group(out, &n, 2, back);
    add_group(out, &n, ranks, there);
    return n;
}

/* ---- rules ---- */

static const struct {
    const char *section;
    uint32_t collectives;
} sections[] = {{"allreduce", TUTTI_ON(ALLREDUCE)},
                {"reduce", TUTTI_ON(REDUCE)},
                {"reduce_scatter", TUTTI_ON_REDUCE_SCATTERS},
                {"scan", TUTTI_ON_SCANS}};

/* A row of the table for the section: of those for ranks that share GPUs, or of the others. */
static const char *draw_row(uint64_t *dice, int s, int leads)
{
    const char *rows[TUTTI_ALGORITHMS];
    unsigned n = 0;
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        const struct tutti_algorithm *row = tutti_algorithms[i];
        if (row->collectives & sections[s].collectives && !row->last_resort &&
            (strncmp(row->name, "leader", 6) == 0) == leads)
            rows[n++] = row->name;
    }
    return rows[below(dice, n)];
}

/* One section: an algorithm alone, or several by size; each beside one for leaders, of which one can run. */
static size_t draw_section(uint64_t *dice, int s, const char *suffix, char *text, size_t size)
{
    unsigned least = 0, parts = below(dice, 2) ? 1 : 2 + below(dice, 3);
    size_t at = (size_t)snprintf(text, size, "%s%s:", sections[s].section, suffix);
    for (unsigned i = 0; i < parts; i++) {
        const char *name = draw_row(dice, s, 0), *leader = draw_row(dice, s, 1);
        unsigned most = least + (1u << (5 + below(dice, 12)));
        if (below(dice, 64) == 0)
            name = tutti_algorithm_last()->name;
        if (i + 1 < parts)
            at += (size_t)snprintf(text + at, size - at, " %u-%u@%s %u-%u@%s", least, most, name, least, most, leader);
        else
            at += (size_t)snprintf(text + at, size - at, " *@%s *@%s", name, leader);
        least = most + 1;
    }
    at += (size_t)snprintf(text + at, size - at, " ");
    return at;
}

/* The default rules of the first device that this build has for real GPUs. */
static const char *rules_of_gpus(void)
{
    const struct tutti_device *device;
    int built;
    for (int i = 0; (device = tutti_device_at(i, &built)) && (!built || device->simulates); i++)
        ;
    return tutti_rules_default(device);
}

void seq_rules(uint64_t seed, int rules, char text[SEQ_TEXT])
{
    static const char *const fixed[] = {
        "", /* the defaults of the device */
        NULL,
        "allreduce: *@pipeline reduce: *@chain reduce_scatter: *@pipeline",
        "allreduce: *@ll128 reduce: *@chain_ll128 reduce_scatter: *@ll128 scan: *@ll128",
        "allreduce: *@twoshot_ll128 reduce: *@chain_ll128 reduce_scatter: *@ll128",
        "allreduce: 0-8k@ll128 *@twoshot_ll128 reduce: 0-16k@twoshot_ll128 *@chain_ll128 reduce_scatter: *@ll128",
        "allreduce: *@copies reduce: *@chain reduce_scatter: *@pipeline scan: *@ll",
        "allreduce: *@mapped reduce: 0-4k@pipeline *@mapped reduce_scatter: *@mapped scan: *@ll128",
        "allreduce: *@pipeline_direct reduce: *@mapped_deep reduce_scatter: *@mapped_deep",
        "allreduce: 0-1k@ll 1k-8k@oneshot *@twoshot reduce: 0-1k@ll 1k-16k@ll128 *@chain reduce_scatter: *@ll",
        "allreduce: 0-512@ll 512-4k@ll128 4k-16k@twoshot_ll128 *@pipeline reduce: 0-512@ll 512-8k@ll128 *@chain_ll128",
        "allreduce: *@pipeline reduce: *@engines reduce_scatter: *@engines",
    };
    const int n = sizeof fixed / sizeof fixed[0];
    _Static_assert(sizeof fixed / sizeof fixed[0] == SEQ_FIXED, "as drawn");
    uint64_t dice = random_mix(seed ^ random_mix(UINT64_C(0x72756c6573) + (unsigned)rules));
    size_t at = 0;
    const char *given = getenv("TUTTI_TEST_RULES");
    if (given && *given) {
        snprintf(text, SEQ_TEXT, "%s", given);
        return;
    }
    if (rules < n) {
        snprintf(text, SEQ_TEXT, "%s", fixed[rules] ? fixed[rules] : rules_of_gpus());
        return;
    }
    for (int s = 0; s < 4; s++)
        at += draw_section(&dice, s, "", text + at, SEQ_TEXT - at);
    for (int s = 0; s < 4 && below(&dice, 3) == 0; s++)
        at += draw_section(&dice, s, "_enqueue", text + at, SEQ_TEXT - at);
}

/* ---- sequences ---- */

static void draw_pair(uint64_t *dice, struct oracle_case *what)
{
    do {
        what->type = (int)below(dice, TUTTI_TYPES);
        what->op = (int)below(dice, TUTTI_OPS);
    } while (!tutti_has_kernel(what->type, what->op));
}

/* As often small as large; now and then one for which kernels have many blocks. */
static size_t draw_count(uint64_t *dice, size_t size, size_t most)
{
    size_t octaves = 1;
    while ((size_t)2 << octaves <= most)
        octaves++;
    size_t bytes = (size_t)1 << below(dice, (unsigned)octaves);
    bytes += random_next(dice) % bytes;
    if (below(dice, 8) == 0)
        bytes = most / 8 + random_next(dice) % (most - most / 8);
    return bytes < size ? 1 : bytes / size;
}

/* Segments: alike, some empty, one that is nearly everything. */
static void draw_counts(uint64_t *dice, struct seq_call *c, int ranks)
{
    size_t left = c->call.count, share = c->call.count / (size_t)ranks;
    const unsigned how = below(dice, 4);
    const int one = (int)below(dice, (unsigned)ranks);
    for (int r = 0; r < ranks; r++) {
        size_t n = how == 0 ? share : how == 1 ? below(dice, 3) : random_next(dice) % (share + share / 2 + 1);
        if (how == 2 && below(dice, 2))
            n = 0;
        c->counts[r] = n < left ? n : left;
        left -= c->counts[r];
    }
    if (how == 1 || how == 3 || left == c->call.count)
        c->counts[one] += left;
    c->call.count = 0;
    for (int r = 0; r < ranks; r++)
        c->call.count += c->counts[r];
}

static void draw_collective(uint64_t *dice, struct seq_call *c, int ranks)
{
    static const enum tutti_collective collectives[] = {
        TUTTI_COLLECTIVE_ALLREDUCE,      TUTTI_COLLECTIVE_ALLREDUCE,      TUTTI_COLLECTIVE_ALLREDUCE,
        TUTTI_COLLECTIVE_REDUCE,         TUTTI_COLLECTIVE_REDUCE,         TUTTI_COLLECTIVE_REDUCE,
        TUTTI_COLLECTIVE_REDUCE_SCATTER, TUTTI_COLLECTIVE_REDUCE_SCATTER, TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        TUTTI_COLLECTIVE_SCAN,           TUTTI_COLLECTIVE_EXSCAN};
    c->call.collective = collectives[below(dice, sizeof collectives / sizeof collectives[0])];
    c->call.root = (int)below(dice, (unsigned)ranks);
}

static void draw_fresh(uint64_t *dice, struct seq_call *c, const struct seq_call *like, int ranks, size_t most)
{
    *c = (struct seq_call){.how = c->how, .team = c->team, .repeats = -1};
    if (like) {
        c->what = like->what;
        c->call.count = like->call.count;
        if (below(dice, 3) == 0)
            c->call.count = below(dice, 2) ? c->call.count + below(dice, 64) : c->call.count / 2 + 1;
    } else {
        draw_pair(dice, &c->what);
        c->call.count = draw_count(dice, tutti_type_size(c->what.type), most);
    }
    if (c->call.count * tutti_type_size(c->what.type) > most)
        c->call.count = most / tutti_type_size(c->what.type);
    draw_collective(dice, c, ranks);
    if (c->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER)
        draw_counts(dice, c, ranks);
    if (c->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK)
        c->call.count = (c->call.count / (size_t)ranks + (c->call.count < (size_t)ranks)) * (size_t)ranks;
    c->in_place = (int)below(dice, 3);
    c->host = below(dice, 48) == 0;
    c->flags = !oracle_floating(c->what.type) && c->what.op != TUTTI_OP_MINLOC && c->what.op != TUTTI_OP_MAXLOC &&
               below(dice, 3) == 0;
    c->call.near = (int)below(dice, 2);
}

/* As the call before, over the same buffers or others; with its type and size; or new. */
static void draw_call(uint64_t *dice, struct sequence *s, int i, int ranks, size_t most)
{
    struct seq_call *c = &s->call[i], *before = NULL;
    for (int j = 0; j < i; j++)
        before = s->call[j].how != SEQ_ANEW ? &s->call[j] : before;
    const unsigned like = below(dice, 8);
    if (before && before->team == c->team && like < 2) {
        const enum seq_how how = c->how;
        *c = *before;
        c->how = how;
        c->repeats = -1;
        c->repeated = 0;
        if (like == 0 && how == SEQ_BLOCKING && before->how == SEQ_BLOCKING) {
            c->repeats = (int)(before - s->call);
            before->repeated = 1;
        }
    } else {
        draw_fresh(dice, c, like < 5 ? before : NULL, ranks, most);
    }
    c->host &= c->how == SEQ_BLOCKING;
    c->what.mode = below(dice, 2) ? ORACLE_HARD : ORACLE_PLAIN;
    c->what.seed = random_next(dice);
    c->call.type = c->what.type;
    c->call.op = c->what.op;
    c->call.gpu = -1;
}

static void draw_teams(uint64_t *dice, struct sequence *s, int groups)
{
    s->teams = 1 + (int)below(dice, SEQ_TEAMS);
    for (int t = 0; t < s->teams; t++)
        s->team[t] = (struct seq_team){.group = (int)below(dice, (unsigned)groups), .streams = below(dice, 5) > 1};
}

void seq_draw(struct sequence *s, uint64_t seed, uint64_t number, int ranks, size_t most)
{
    struct seq_group group[SEQ_GROUPS];
    const int groups = seq_groups(ranks, group);
    uint64_t dice = random_mix(seed ^ random_mix(number));
    *s = (struct sequence){.seed = seed, .number = number};
    const uint64_t rules = random_mix(seed + number / SEQ_SAME_RULES);
    s->rules = (int)(rules % 2 ? (rules >> 8) % SEQ_FIXED : (rules >> 8) % SEQ_RULES);
    draw_teams(&dice, s, groups);
    s->calls = 3 + (int)below(&dice, SEQ_CALLS - 2);
    for (int i = 0; i < s->calls; i++) {
        struct seq_call *c = &s->call[i];
        c->team = (int)below(&dice, (unsigned)s->teams);
        c->how = s->team[c->team].streams && below(&dice, 3) ? SEQ_ENQUEUED : SEQ_BLOCKING;
        if (i > 0 && below(&dice, 16) == 0)
            c->how = SEQ_ANEW;
        else
            draw_call(&dice, s, i, group[s->team[c->team].group].size, most);
    }
}

/* ---- in words ---- */

void seq_show(FILE *to, const struct sequence *s, int ranks)
{
    static const char *const names[TUTTI_COLLECTIVES] = {
#define TUTTI_COLLECTIVE(id, name) name,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
    };
    static const char *const hows[] = {"blocking", "enqueued", "made anew"};
    static const char *const places[] = {"", ", in place", ", in place on some ranks"};
    struct seq_group group[SEQ_GROUPS];
    char rules[SEQ_TEXT];
    seq_groups(ranks, group);
    seq_rules(s->seed, s->rules, rules);
    fprintf(to, "sequence %llu of seed %llu, %d ranks, rules \"%s\"\n", (unsigned long long)s->number,
            (unsigned long long)s->seed, ranks, rules);
    for (int t = 0; t < s->teams; t++) {
        fprintf(to, "  team %d%s of ranks", t, s->team[t].streams ? " with a stream" : "");
        for (int r = 0; r < group[s->team[t].group].size; r++)
            fprintf(to, " %d", group[s->team[t].group].world[r]);
        fprintf(to, "\n");
    }
    for (int i = 0; i < s->calls; i++) {
        const struct seq_call *c = &s->call[i];
        fprintf(to, "  call %d: team %d, %s", i, c->team, hows[c->how]);
        if (c->how != SEQ_ANEW) {
            fprintf(to, ": %s, %s of %zu %s%s", names[c->call.collective], tutti_op_name(c->what.op), c->call.count,
                    tutti_type_name(c->what.type), places[c->in_place]);
            if (c->call.collective == TUTTI_COLLECTIVE_REDUCE)
                fprintf(to, ", root %d", c->call.root);
            for (int r = 0;
                 c->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && r < group[s->team[c->team].group].size; r++)
                fprintf(to, "%s%zu", r ? " + " : ", segments ", c->counts[r]);
            if (c->flags)
                fprintf(to, ", of flags");
            if (c->host)
                fprintf(to, ", host memory on rank 0");
            if (c->repeats >= 0)
                fprintf(to, ", buffers of call %d", c->repeats);
        }
        fprintf(to, "\n");
    }
}
