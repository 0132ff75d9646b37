/* The rules of partitioned collectives, by the bytes of a partition of a rank's contribution. */
#include "part/coll/own.h"
#include "rules/rules.h"

enum pcoll_id {
#define TUTTI_PCOLL(id, name, text) PCOLL_##id,
#include "tutti/pcoll.def"
    PCOLL_ROWS
};
static const struct tutti_pcoll_row *const rows[PCOLL_ROWS] = {
#define TUTTI_PCOLL(id, name, text) &tutti_pcoll_##id,
#include "tutti/pcoll.def"
};

static const struct tutti_names row_names = {
    .what = "algorithm of partitioned collectives",
#define TUTTI_PCOLL(id, name, text) name " "
    .known =
#include "tutti/pcoll.def"
        ,
};

/* In the order of enum tutti_pcoll_meets. */
static const struct tutti_names meets_names = {.what = "kernels in which ranks meet", .known = "never engine kernel"};

enum { SECTION_BCAST, SECTION_ALLGATHER, SECTION_REDUCE, SECTION_MEET, SECTIONS };
static const struct tutti_section sections[SECTIONS] = {[SECTION_BCAST] = {"partitioned_bcast", &row_names},
                                                        [SECTION_ALLGATHER] = {"partitioned_allgather", &row_names},
                                                        [SECTION_REDUCE] = {"partitioned_reduce", &row_names},
                                                        [SECTION_MEET] = {"partitioned_meet", &meets_names}};
static struct tutti_rules_room pcoll_room = {.section = sections,
                                             .sections = SECTIONS,
                                             .known = "partitioned_bcast, partitioned_allgather, partitioned_reduce, "
                                                      "partitioned_meet"};

__attribute__((constructor)) static void pcoll_register(void)
{
    tutti_rules_register(&pcoll_room);
}

static int differ; /* 1: the ranks' rules differ, so all of them use the first row that can make the call */

void tutti_pcoll_agree(struct tutti_transport *transport)
{
    int64_t words[2 * SECTIONS];
    for (int i = 0; i < SECTIONS; i++) {
        words[2 * i] = tutti_rules_section_hash(pcoll_room.first + i);
        words[2 * i + 1] = -words[2 * i];
    }
    differ = transport->ops->allreduce(transport, words, 2 * SECTIONS, TUTTI_COMBINE_MAX) != TUTTI_OK;
    for (int i = 0; i < SECTIONS; i++)
        differ |= words[2 * i] != -words[2 * i + 1];
}

static int pcoll_section_of(enum tutti_pcoll_kind kind)
{
    return kind == TUTTI_PCOLL_BCAST       ? SECTION_BCAST
           : kind == TUTTI_PCOLL_ALLGATHER ? SECTION_ALLGATHER
                                           : SECTION_REDUCE;
}

/* Bytes that all ranks agree on. The ranks of a reduce-scatter and of a mover have different blocks, and one row. */
static size_t bytes_of(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_side *side = p->args.send.used ? &p->args.send : &p->args.recv;
    const struct tutti_pcoll_block *block = side->block;
    if (side->blocks == 0 || p->args.kind == TUTTI_PCOLL_REDUCE_SCATTER)
        return 0;
    if (p->args.kind == TUTTI_PCOLL_BCAST) /* the ranks may divide the message differently */
        return (size_t)block->count * block->plan->size * (size_t)side->partitions;
    if (p->args.kind == TUTTI_PCOLL_ALLGATHER) {
        block = &p->args.recv.block[0];
        return (size_t)block->count * block->plan->size * (size_t)p->args.recv.partitions;
    }
    return (size_t)block->count * block->plan->size;
}

static int pcoll_row_can(const struct tutti_pcoll_row *row, const struct tutti_pcoll *p)
{
    return row->kinds >> p->args.kind & 1 && (!row->can || row->can(p));
}

const struct tutti_pcoll_row *tutti_pcoll_choose(const struct tutti_pcoll *p)
{
    int from = tutti_rules_begin(tutti_rules_in_force()), choice, i = 0;
    while (!differ && p->args.kind != TUTTI_PCOLL_MOVE &&
           (choice = tutti_rules_next(pcoll_room.first + pcoll_section_of(p->args.kind), bytes_of(p), &from)) >= 0) {
        if (pcoll_row_can(rows[choice], p))
            return rows[choice];
    }
    while (!pcoll_row_can(rows[i], p)) /* each kind has a row that can make every call */
        i++;
    return rows[i];
}

/* A group of a kernel combines a partition alone, about 3.4 GB/s on H100; the groups of many partitions combine at
 * once, until the links limit them. So of more than COUNTED partitions, each counts as its share of COUNTED ones. */
enum tutti_pcoll_meets tutti_pcoll_meets(uint64_t bytes, int partitions)
{
    enum { COUNTED = 8 };
    if (partitions > COUNTED)
        bytes = (bytes * COUNTED + (uint64_t)partitions - 1) / (uint64_t)partitions;
    int from = tutti_rules_begin(tutti_rules_in_force());
    const int way = differ ? -1 : tutti_rules_next(pcoll_room.first + SECTION_MEET, bytes, &from);
    return way < 0 ? TUTTI_PCOLL_MEET_NEVER : (enum tutti_pcoll_meets)way;
}
