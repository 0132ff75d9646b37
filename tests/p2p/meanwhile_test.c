/* Copies by engines while the packing kernels are not loaded (p2p/meanwhile.c): what each launch counts towards loading
 * them, by its messages. Short messages of other ranks load them at once. */
#include <stdio.h>

#include "p2p/own.h"
#include "support/check.h"
#include "team/deferred_free.h"

enum { GPU = 1, SELF = 2, PEER = 3, SHORT = TUTTI_ENDPOINT_FIRST_BYTES, LONG = SHORT + 1, MOST = 3 };

static int has_engines, lacks_kernels, in_turns, has_pinned, through;
static int engines, kernels, gained; /* launches; of these, those that gain */
static uint64_t lost;

/* In place of the core's. */
int tutti_node_rank(const struct tutti_node *node)
{
    (void)node;
    return SELF;
}
int tutti_endpoint_takes_turns(const struct tutti_endpoint *endpoint, int peer, int gpu)
{
    (void)endpoint, (void)peer, (void)gpu;
    return in_turns;
}
int tutti_endpoint_lacks_kernels(const struct tutti_endpoint *endpoint, int gpu)
{
    (void)endpoint;
    CHECK(gpu == GPU, "GPU %d", gpu);
    return lacks_kernels;
}
int tutti_deferred_free_may_load(const struct tutti_node *node)
{
    (void)node;
    return 1;
}
int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    (void)jobs, (void)n;
    CHECK(gpu == GPU && may_make, "GPU %d", gpu);
    engines += has_engines;
    return has_engines ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}
int tutti_pack_through(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    (void)gpu, (void)jobs, (void)n, (void)may_make;
    through += has_pinned;
    return has_pinned ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}
int tutti_pack_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how)
{
    (void)jobs, (void)n;
    CHECK(gpu == GPU && how == TUTTI_PACK_NEAR, "GPU %d, how %u", gpu, how);
    kernels++;
    return TUTTI_OK;
}
void tutti_pack_lost(int gpu, uint64_t ns)
{
    CHECK(gpu == GPU, "GPU %d", gpu);
    lost += ns;
}
void tutti_pack_gained(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    (void)jobs, (void)n;
    CHECK(gpu == GPU, "GPU %d", gpu);
    gained++;
}

static struct tutti_p2p_worker worker;

static void begin(void)
{
    engines = kernels = gained = through = 0;
    lost = 0;
}

/* Messages that are fetched. bytes: of the last one; the others are long. */
static int fetched(unsigned n, uint64_t bytes, int own)
{
    struct tutti_pack_job jobs[MOST];
    begin();
    for (unsigned i = 0; i < n; i++)
        jobs[i] = (struct tutti_pack_job){.bytes = i + 1 < n ? LONG : bytes};
    return tutti_engines_meanwhile(&worker, GPU, jobs, n, own);
}

/* Messages that are packed; the last one goes to this rank. */
static int packed(unsigned n, uint64_t bytes, int to)
{
    static struct tutti_rndv rndv[MOST];
    static struct tutti_p2p_send send[MOST];
    struct tutti_p2p_send *sends[MOST];
    struct tutti_pack_job jobs[MOST];
    begin();
    for (unsigned i = 0; i < n; i++) {
        rndv[i].to = (uint32_t)(i + 1 < n ? SELF : to);
        send[i].rndv = &rndv[i];
        send[i].gpu = GPU;
        sends[i] = &send[i];
        jobs[i] = (struct tutti_pack_job){.bytes = i + 1 < n ? LONG : bytes};
    }
    return tutti_engines_pack(&worker, sends, jobs, n);
}

static void fetches(void)
{
    for (unsigned n = 1; n <= MOST; n++) {
        const uint64_t by_engines = 6000 + (n - 1) * UINT64_C(3000);
        has_engines = 1;
        CHECK(fetched(n, LONG, 0) == TUTTI_OK && engines == 1 && gained == 1 && lost == 0, "%u long ones", n);
        CHECK(fetched(n, SHORT, 0) == TUTTI_OK && gained == 0 && lost == TUTTI_PACK_LOADING_NS, "a short one of %u", n);
        CHECK(fetched(n, SHORT, 1) == TUTTI_OK && gained == 0 && lost == by_engines, "%u of the rank itself", n);
        has_engines = 0;
        CHECK(fetched(n, SHORT, 0) == TUTTI_ERR_UNAVAILABLE && gained == 0 && lost == 0, "%u without engines", n);
    }
}

static void packs(void)
{
    for (unsigned n = 1; n <= MOST; n++) {
        const uint64_t by_engines = 6000 + (n - 1) * UINT64_C(3000);
        has_engines = lacks_kernels = 1;
        CHECK(packed(n, LONG, PEER) == TUTTI_OK && engines == 1 && kernels == 0 && lost == by_engines, "%u long ones",
              n);
        CHECK(packed(n, SHORT, SELF) == TUTTI_OK && engines == 1 && lost == by_engines, "%u, a short one to itself", n);
        CHECK(packed(n, SHORT, PEER) == TUTTI_OK && engines == 1 && lost == TUTTI_PACK_LOADING_NS,
              "%u, a short one to a peer", n);
        has_engines = 0;
        CHECK(packed(n, SHORT, PEER) == TUTTI_OK && kernels == 1 && lost == 0, "%u without engines", n);
        has_engines = 1;
        lacks_kernels = 0;
        CHECK(packed(n, SHORT, PEER) == TUTTI_OK && engines == 0 && kernels == 1 && lost == 0, "%u, loaded", n);
    }
}

int main(void)
{
    fetches();
    packs();
    in_turns = lacks_kernels = has_engines = has_pinned = 1;
    CHECK(packed(1, LONG, PEER) == TUTTI_OK && through == 1 && engines == 0 && kernels == 0, "by turns");
    has_pinned = 0;
    CHECK(packed(1, LONG, PEER) == TUTTI_OK && engines == 1 && kernels == 0, "by turns, without pinned memory");
    lacks_kernels = 0;
    CHECK(packed(1, LONG, PEER) == TUTTI_OK && engines == 0 && kernels == 1, "by turns, with loaded kernels");
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
