/* Rules in force: sets of them, as they are tried, and what is chosen by them. Of a section the first rule that fits
 * and can run is taken; calls in stream order look into the section with _enqueue first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/algorithm.h"
#include "coll/rules/sections.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"

static const char *const without_device =
    "allreduce: *@staged reduce: *@staged reduce_scatter: *@staged scan: *@staged";

static const char default_rules[] = "the defaults"; /* as a source of rules */
enum { DEFAULTS_MOST = 128 };                       /* rows that are kept for them */

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

enum tutti_section tutti_rules_section_enqueue(enum tutti_collective collective)
{
    enum tutti_section section = tutti_rules_section(collective);
    return section == TUTTI_SECTIONS ? section : section + TUTTI_SECTION_ALLREDUCE_ENQUEUE;
}

const char *tutti_rules_default(const struct tutti_device *device)
{
    return device && device->rules ? device->rules : without_device;
}

/* A set of rules as they are tried: the user's, those measured here, the device's. Read once: choosing must cost next
 * to nothing. Never freed: communicators keep the set that was in force when they were opened. Where a walk stands is
 * one number: the set's, times PLACES, and the row's. */
enum { SETS = 64, ROWS = 512, PLACES = 1024 };
struct set {
    struct tutti_rule row[ROWS];
    int rows, defaults; /* where the defaults begin */
    uint32_t hash;
    char *text; /* of tutti_rules_set() */
};
static struct set first, *set[SETS] = {&first};
static int sets = 1;
static atomic_int in_force; /* of `set` */
static atomic_int follow;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of sets and in_force */

static void read_rows(struct set *out, const char *text, const char *from)
{
    struct tutti_rule rule = {.section = TUTTI_SECTIONS};
    char wrong[320];
    int more;
    while ((more = tutti_rule_read(&tutti_sections, &text, &rule, wrong, sizeof wrong)) == 1) {
        if (out->rows == ROWS - DEFAULTS_MOST * (from != default_rules)) {
            tutti_warn_alike("%s: too many rules: the first %d are used", from, out->rows);
            return;
        }
        out->row[out->rows++] = rule;
    }
    if (more < 0)
        tutti_warn_alike("%s: %s; what follows is ignored", from, wrong);
}

static uint32_t hash_of(uint32_t hash, uint64_t word)
{
    for (int i = 0; i < 8; i++, word >>= 8)
        hash = (hash ^ (uint32_t)(word & 0xff)) * 16777619u;
    return hash;
}

static void read_measured(struct set *out)
{
    char path[1024], device[256], wrong[320] = "";
    char *rules = malloc(TUTTI_RULES_BYTES);
    if (rules && tutti_rules_path(path, sizeof path) == TUTTI_OK &&
        tutti_rules_device(device, sizeof device) == TUTTI_OK) {
        if (tutti_rules_load(path, device, rules, TUTTI_RULES_BYTES, wrong, sizeof wrong) == TUTTI_OK)
            read_rows(out, rules, path);
        else
            tutti_warn_alike("%s: %s; the file is ignored", path, wrong);
    }
    free(rules);
}

static void read_defaults(struct set *out)
{
    out->defaults = out->rows;
    read_rows(out, tutti_rules_default(tutti_device()), default_rules);
    out->hash = 2166136261u;
    for (int i = 0; i < out->rows; i++) {
        out->hash = hash_of(out->hash, (uint64_t)out->row[i].section << 32 | (uint64_t)out->row[i].choice);
        out->hash = hash_of(hash_of(out->hash, out->row[i].least), out->row[i].most);
    }
}

static void read_first(void)
{
    read_rows(&first, tutti_settings()->rules, "TUTTI_RULES");
    read_measured(&first);
    read_defaults(&first);
}

int tutti_rules_next(enum tutti_section section, size_t bytes, int *from)
{
    pthread_once(&once, read_first);
    const struct set *of = set[*from / PLACES];
    for (int i = *from % PLACES; i < of->rows; i++) {
        if (of->row[i].section != (int)section || bytes < of->row[i].least || bytes > of->row[i].most)
            continue;
        *from = *from / PLACES * PLACES + i + 1;
        return of->row[i].choice;
    }
    return -1;
}

enum tutti_protocol tutti_rules_message(size_t bytes, int *from)
{
    pthread_once(&once, read_first);
    if (*from == 0)
        *from = atomic_load_explicit(&in_force, memory_order_acquire) * PLACES;
    int way = tutti_rules_next(TUTTI_SECTION_MESSAGE, bytes, from);
    return way < 0 ? TUTTI_PROTOCOLS : (enum tutti_protocol)way;
}

enum tutti_reason tutti_rules_why(int from)
{
    const int row = from % PLACES - 1; /* that has been taken last */
    return row >= 0 && row < set[from / PLACES]->defaults ? TUTTI_REASON_RULES : TUTTI_REASON_RULES_DEFAULT;
}

enum tutti_protocol tutti_rules_message_far(size_t bytes)
{
    pthread_once(&once, read_first);
    int from = atomic_load_explicit(&in_force, memory_order_acquire) * PLACES;
    int way = tutti_rules_next(TUTTI_SECTION_MESSAGE_FAR, bytes, &from);
    return way < 0 ? TUTTI_PROTOCOLS : (enum tutti_protocol)way;
}

uint32_t tutti_rules_hash(int *begin, int *defaults_from)
{
    pthread_once(&once, read_first);
    pthread_mutex_lock(&lock);
    const struct set *of = set[in_force];
    *begin = in_force * PLACES;
    pthread_mutex_unlock(&lock);
    *defaults_from = *begin + of->defaults;
    return of->hash;
}

static int add_set(const char *text, char *wrong, size_t size)
{
    if (sets == SETS) {
        snprintf(wrong, size, "rules: too many 'sets': a process keeps at most 63 texts of tutti_rules_set()");
        return TUTTI_ERR_UNAVAILABLE;
    }
    struct set *made = calloc(1, sizeof *made);
    if (made)
        made->text = strdup(text);
    if (!made || !made->text) {
        free(made);
        snprintf(wrong, size, "rules: no memory for 'rules': out of memory");
        return TUTTI_ERR_MEMORY;
    }
    read_rows(made, text, "tutti_rules_set");
    read_defaults(made);
    set[sets++] = made;
    return TUTTI_OK;
}

int tutti_rules_set(const char *text, char *wrong, size_t size)
{
    int status = text ? tutti_rules_check(text, wrong, size) : TUTTI_OK, found = 0;
    if (status != TUTTI_OK)
        return status;
    pthread_once(&once, read_first);
    pthread_mutex_lock(&lock);
    if (text) {
        found = 1;
        while (found < sets && strcmp(set[found]->text, text) != 0)
            found++;
        if (found == sets)
            status = add_set(text, wrong, size);
    }
    if (status == TUTTI_OK)
        in_force = found;
    pthread_mutex_unlock(&lock);
    return status;
}

void tutti_rules_follow(int on)
{
    atomic_store(&follow, on);
}

int tutti_rules_begin(int own)
{
    if (!atomic_load_explicit(&follow, memory_order_relaxed))
        return own;
    return atomic_load_explicit(&in_force, memory_order_acquire) * PLACES;
}

const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus)
{
    static const enum tutti_collective examples[TUTTI_SECTIONS] = {
        [TUTTI_SECTION_ALLREDUCE] = TUTTI_COLLECTIVE_ALLREDUCE,
        [TUTTI_SECTION_REDUCE] = TUTTI_COLLECTIVE_REDUCE,
        [TUTTI_SECTION_REDUCE_SCATTER] = TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
        [TUTTI_SECTION_SCAN] = TUTTI_COLLECTIVE_SCAN,
    };
    enum tutti_section section = (enum tutti_section)tutti_section_find(&tutti_sections, collective);
    if (section >= TUTTI_SECTION_ALLREDUCE_ENQUEUE) /* also what is no collective */
        return "none";
    int from, end, algorithm;
    struct tutti_team team = {.size = ranks, .gpus = gpus, .lines = 1};
    struct tutti_reduce call = {.collective = examples[section], .count = bytes, .type = TUTTI_TYPE_U8};
    tutti_rules_hash(&from, &end);
    while ((algorithm = tutti_rules_next(section, bytes, &from)) >= 0) {
        if (tutti_algorithms[algorithm].can(&team, &call))
            return tutti_algorithms[algorithm].name;
    }
    return "staged";
}
