/* Sets of rules, and which of them are in force. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "rules/rules.h"

static const char *const without_device =
    "allreduce: *@staged reduce: *@staged reduce_scatter: *@staged scan: *@staged";

static const char common[] =
    "shmem_stream: 0-4m@channel 0-8k@block *@blocks; shmem_move: 0-2m@channel 0-8k@block "
    "*@blocks; aware: 0-65535@host *@device; message_put: *@never; "
    "message_to_host: *@direct; "
    "allreduce_nodes: 0-1m@mpi "
    "*@pipelined; reduce_nodes: 0-1m@mpi *@pipelined; reduce_scatter_nodes: "
    "0-1m@mpi *@pipelined; scan_nodes: 0-1m@mpi *@ranks; leaders: 0-16k@all_at_once *@slices; leaders_combine: *@host; "
    "partitioned: 0-256k@kernel *@engine; partitioned_bcast: *@binomial; partitioned_allgather: "
    "0-64k@pairwise *@forward; "
    "partitioned_reduce: 0-16k@at_once *@ring *@slices *@chain *@at_once; "
    "partitioned_meet: 0-64k@kernel *@engine; "
    "bcast_nodes: *@mpi; gather_nodes: *@mpi; scatter_nodes: *@mpi; allgather_nodes: *@mpi; "
    "alltoall_nodes: *@mpi; neighbor_nodes: *@mpi; file_write: 0-524287@whole *@pieces; file_read: "
    "0-262143@whole *@pieces";

static const char default_rules[] = "the defaults"; /* as a source of rules */
enum { DEFAULTS_MOST = 192 };                       /* rows that are kept for them */

const char *tutti_rules_default(const struct tutti_device *device)
{
    return device && device->rules ? device->rules : without_device;
}

const char *tutti_rules_common(void)
{
    return common;
}

/* A set of rules as they are tried: the user's, those measured here, the device's. Read once: choosing must cost next
 * to nothing. Never freed: communicators keep the set that was in force when they were opened. The place of a walk
 * is one number: the set's, times PLACES, and the row's. */
enum { SETS = 64, ROWS = 512, PLACES = 1024 };
struct set {
    struct tutti_rule row[ROWS];
    short begin[TUTTI_SECTIONS_MOST],
        next[ROWS];            /* the first row of a section, and the next one of each row's; ROWS: none */
    int rows, users, defaults; /* users: of them from TUTTI_RULES; defaults: where those begin */
    uint32_t hash;
    char *text; /* of tutti_rules_set() */
};
static struct set first, *set[SETS] = {&first};
static int sets = 1;
static atomic_int in_force; /* of `set` */
static atomic_int follow;
static struct tutti_once rules_once = TUTTI_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of sets and in_force */

static void read_rows(struct set *out, const char *text, const char *from)
{
    struct tutti_rule rule = {.section = -1};
    char wrong[320];
    int more;
    while ((more = tutti_rule_read(&text, &rule, wrong, sizeof wrong)) == 1) {
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

static uint32_t hash_of_ranges(uint32_t hash, const struct tutti_rule *rule)
{
    hash = hash_of(hash_of(hash, rule->least), rule->most);
    return hash_of(hash, (uint64_t)rule->ranks_least << 32 | (uint64_t)rule->ranks_most);
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

/* Links the rows of each section. */
static void link_rows(struct set *out)
{
    for (int s = 0; s < TUTTI_SECTIONS_MOST; s++)
        out->begin[s] = ROWS;
    for (int i = out->rows - 1; i >= 0; i--) {
        const int section = out->row[i].section;
        out->next[i] = ROWS;
        out->next[i] = out->begin[section];
        out->begin[section] = (short)i;
    }
}

static void read_defaults(struct set *out)
{
    out->defaults = out->rows;
    read_rows(out, tutti_rules_default(tutti_device()), default_rules);
    read_rows(out, common, default_rules);
    link_rows(out);
    out->hash = 2166136261u;
    for (int i = 0; i < out->rows; i++) {
        out->hash = hash_of(out->hash, (uint64_t)out->row[i].section << 32 | (uint64_t)out->row[i].choice);
        out->hash = hash_of_ranges(out->hash, &out->row[i]);
    }
}

static void read_first(void)
{
    read_rows(&first, tutti_settings()->rules, "TUTTI_RULES");
    first.users = first.rows;
    read_measured(&first);
    read_defaults(&first);
}

static void rules_read(void)
{
    tutti_once(&rules_once, read_first);
}

/* The row of the section at or behind `place`, which is 0 or behind the row that was taken last. */
static int rules_row_from(const struct set *of, int section, int place)
{
    if (place == 0)
        return of->begin[section];
    if (of->row[place - 1].section == section)
        return of->next[place - 1];
    while (place < of->rows && of->row[place].section != section)
        place++;
    return place;
}

int tutti_rules_next(int section, size_t bytes, int *from)
{
    return tutti_rules_next_of(section, bytes, 0, from);
}

int tutti_rules_next_of(int section, size_t bytes, int ranks, int *from)
{
    rules_read();
    const struct set *of = set[*from / PLACES];
    for (int i = rules_row_from(of, section, *from % PLACES); i < of->rows; i = of->next[i]) {
        const struct tutti_rule *row = &of->row[i];
        if (bytes < row->least || bytes > row->most || ranks < row->ranks_least || ranks > row->ranks_most)
            continue;
        *from = *from / PLACES * PLACES + i + 1;
        return row->choice;
    }
    return -1;
}

int tutti_rules_next_any(int section, int ranks, int *from)
{
    rules_read();
    const struct set *of = set[*from / PLACES];
    for (int i = rules_row_from(of, section, *from % PLACES); i < of->rows; i = of->next[i]) {
        if (ranks < of->row[i].ranks_least || ranks > of->row[i].ranks_most)
            continue;
        *from = *from / PLACES * PLACES + i + 1;
        return of->row[i].choice;
    }
    return -1;
}

int tutti_rules_in_force(void)
{
    rules_read();
    return atomic_load_explicit(&in_force, memory_order_acquire) * PLACES;
}

enum tutti_reason tutti_rules_why(int from)
{
    const int row = from % PLACES - 1; /* that has been taken last */
    return row >= 0 && row < set[from / PLACES]->defaults ? TUTTI_REASON_RULES : TUTTI_REASON_RULES_DEFAULT;
}

int tutti_rules_is_users(int from)
{
    return from % PLACES - 1 < set[from / PLACES]->users;
}

uint32_t tutti_rules_hash(int *begin, int *defaults_from)
{
    rules_read();
    pthread_mutex_lock(&lock);
    const struct set *of = set[in_force];
    *begin = in_force * PLACES;
    pthread_mutex_unlock(&lock);
    *defaults_from = *begin + of->defaults;
    return of->hash;
}

uint32_t tutti_rules_section_hash(int section)
{
    int begin, behind;
    tutti_rules_hash(&begin, &behind);
    const struct set *of = set[begin / PLACES];
    uint32_t hash = 2166136261u;
    for (int i = 0; i < of->rows; i++) {
        if (of->row[i].section == section)
            hash = hash_of_ranges(hash_of(hash, (uint64_t)of->row[i].choice), &of->row[i]);
    }
    return hash;
}

/* The first size from `bytes` on that none of the first `rows` rows holds in its section, for any number of ranks. */
static size_t size_left(const struct set *of, int section, int rows, size_t bytes)
{
    for (int j = 0; j < rows; j++) {
        if (of->row[j].section != section || bytes < of->row[j].least || bytes > of->row[j].most ||
            of->row[j].ranks_least > 0)
            continue;
        if (of->row[j].most == SIZE_MAX)
            return SIZE_MAX;
        bytes = of->row[j].most + 1;
        j = -1; /* an earlier row may hold it now */
    }
    return bytes;
}

/* 1 if a row is the first one that holds some size. */
static int row_is_used(const struct set *of, int i)
{
    const size_t bytes = size_left(of, of->row[i].section, i, of->row[i].least);
    return bytes < SIZE_MAX && bytes <= of->row[i].most;
}

int tutti_rules_choose(int section, int choice)
{
    int begin, behind;
    tutti_rules_hash(&begin, &behind);
    const struct set *of = set[begin / PLACES];
    for (int i = 0; i < of->rows; i++) {
        if (of->row[i].section != section || of->row[i].choice != choice)
            continue;
        if (row_is_used(of, i))
            return 1;
    }
    return 0;
}

int tutti_rules_users_only(int section, int choice)
{
    rules_read();
    for (int i = 0; i < first.users; i++) {
        if (first.row[i].section == section && first.row[i].choice != choice && row_is_used(&first, i))
            return 0;
    }
    return size_left(&first, section, first.users, 0) == SIZE_MAX;
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
    made->users = made->rows;
    read_defaults(made);
    set[sets++] = made;
    return TUTTI_OK;
}

int tutti_rules_set(const char *text, char *wrong, size_t size)
{
    int status = text ? tutti_rules_check(text, wrong, size) : TUTTI_OK, found = 0;
    if (status != TUTTI_OK)
        return status;
    rules_read();
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

int tutti_rules_check(const char *text, char *wrong, size_t size)
{
    return tutti_grammar_check(text, wrong, size);
}
