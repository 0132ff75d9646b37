/* The account of endpoints by itself (team/endpoint/endpoint_price.c), for tests: nothing is mapped and nothing is
 * timed. The device says what a mapping takes, and the peer's page what its last one took. Included by one source of a
 * program. */
#ifndef TUTTI_TESTS_TEAM_ENDPOINT_PRICE_H
#define TUTTI_TESTS_TEAM_ENDPOINT_PRICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "team/endpoint/endpoint_own.h"

enum {
    USUAL = 2000000, /* ns of a mapping */
    SET = 1000000,   /* TUTTI_MAPPING_PRICE_US */
    KERNELS = TUTTI_PACK_LOADING_NS,
    KERNELS_PART = KERNELS / 3,
    ENGINE = 3000,   /* that an engine takes longer to fetch than a kernel */
    CREDIT = 100000, /* ns that an allocation has lost before it is mapped on credit */
    AWAIT = 128,
    BYTES = 20000,
    LOSES = 12572, /* of a message of BYTES bytes that is staged */
    SHORT = 8000,
    MIDDLE = 3000,
    LONG = 2 << 20,
    LEFT = 1 << 20,
    FIRST = 16 << 10,
    NEVER = 100000,
    PEER = 1
};

static uint64_t usual = USUAL, ids;
static int turning, unwaited;

static inline uint64_t usual_ns(void)
{
    return usual;
}
static inline int copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    (void)stream, (void)to, (void)from, (void)bytes;
    return 0;
}
static inline int query(struct tutti_stream *stream)
{
    (void)stream;
    return 1;
}
static inline int turns(int gpu)
{
    (void)gpu;
    return turning;
}
/* The kernels are those of the simulated GPU, which are not loaded at first. Engines of the first one copy meanwhile.
 */
static const struct tutti_device with_engines = {.share.usual_ns = usual_ns,
                                                 .stream.copy = copy,
                                                 .stream.query = query,
                                                 .gpu.turns = turns},
                                 without_engines = {.share.usual_ns = usual_ns, .gpu.turns = turns};

static struct tutti_endpoint endpoint;
static struct tutti_endpoint_from from[2];
static struct tutti_node node;
static struct tutti_peer peers[2];
static struct tutti_endpoints *mine, *theirs;

/* A process that has sent nothing. owes: a mapping on credit that nothing has saved. */
static inline void begin(const struct tutti_device *device, int owes)
{
    memset(&endpoint, 0, sizeof endpoint);
    memset(from, 0, sizeof from);
    memset(mine, 0, sizeof *mine);
    memset(theirs, 0, sizeof *theirs);
    endpoint.node = &node;
    endpoint.device = device;
    endpoint.from = from;
    endpoint.gpus = 1;
    endpoint.gpu[0].life = tutti_gpu_life(0);
    endpoint.gpu[0].endpoint = &endpoint;
    endpoint.piece[0].to = PEER;
    endpoint.owed = owes ? USUAL : 0;
    from[PEER].endpoint = &endpoint;
    usual = USUAL;
    turning = unwaited = 0;
}

static struct tutti_endpoint_verdict verdict;

/* A message from this allocation: whether it is to be mapped. `verdict.scratch_pays`: whether scratch is to be. */
static inline enum tutti_pays message(uint64_t id, uint64_t extent, uint64_t bytes, int alone)
{
    struct tutti_rndv *rndv = &mine->rndv[0];
    const struct tutti_endpoint_verdict not_yet = {.alone = alone, .unwaited = unwaited};
    rndv->share.what.id = id;
    rndv->share.what.bytes = extent;
    rndv->bytes = bytes;
    tutti_endpoint_account(&endpoint, rndv, &not_yet);
    verdict.scratch_pays = tutti_endpoint_needs_scratch(&endpoint, rndv);
    return (enum tutti_pays)rndv->pays;
}

static inline int left(void)
{
    return tutti_endpoint_leaves(&endpoint, &mine->rndv[0]);
}

/* How many messages of the allocation it takes until it is to be mapped; *how. NEVER: more than that. */
static inline int until_asked(uint64_t id, uint64_t extent, uint64_t bytes, enum tutti_pays *how)
{
    int n = 0;
    do {
        *how = message(id, extent, bytes, 1);
        n++;
    } while (*how == TUTTI_PAYS_NOT && n < NEVER);
    return n;
}

static inline int messages_that_lose(uint64_t ns, uint64_t each)
{
    return (int)((ns + each - 1) / each);
}

#define ASKED(id, extent, bytes, expected, expected_how, ...)                                                          \
    do {                                                                                                               \
        enum tutti_pays how_;                                                                                          \
        const int n_ = until_asked(id, extent, bytes, &how_);                                                          \
        char text_[200];                                                                                               \
        snprintf(text_, sizeof text_, __VA_ARGS__);                                                                    \
        CHECK(n_ == (expected) && how_ == (expected_how), "%s: asked after %d messages as %d, not after %d as %d",     \
              text_, n_, (int)how_, (int)(expected), (int)(expected_how));                                             \
    } while (0)

static inline void price_open(void)
{
    for (int r = 0; r < 2; r++) {
        peers[r].page = calloc(1, sizeof *peers[r].page);
        peers[r].page->control = calloc(1, sizeof *peers[r].page->control);
    }
    node.peer = peers;
    node.size = 2;
    mine = &peers[0].page->control->endpoints;
    theirs = &peers[PEER].page->control->endpoints;
}

#endif
