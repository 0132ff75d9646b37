/* Which messages their receiver counts as ones into memory of the host: short ones from other ranks, by the memory in
 * which their elements lie. Pinned memory counts. Managed memory does not: a kernel stores there as soon as in other
 * memory of its GPU. With TUTTI_RULES=message_to_host:0-8k@staged. */
#include <stdio.h>

#include "p2p/own.h"
#include "support/check.h"

enum { SELF = 2, PEER = 3, SHORT = 8 << 10 };

static int is_open, notes, noted;                                                 /* noted: as memory of the host */
static struct tutti_endpoint *const endpoint = (struct tutti_endpoint *)&is_open; /* that nothing looks into */

/* In place of the core's. */
void tutti_endpoint_note_to_host(struct tutti_endpoint *of, int peer, int host)
{
    CHECK(of == endpoint && peer == PEER, "another endpoint, or rank %d", peer);
    notes++;
    noted = host;
}

int tutti_node_rank(const struct tutti_node *node)
{
    (void)node;
    return SELF;
}

int main(void)
{
    static const struct {
        const char *name;
        struct tutti_places places;
        int host;
    } rows[] = {{"ordinary memory", {.host = 1, .gpu = -1}, 1},
                {"pinned memory", {.gpu = -1}, 1},
                {"memory of a GPU", {.device = 1, .gpu = 1, .id = 7}, 0},
                {"memory of GPU 0", {.device = 1, .gpu = 0, .id = 7}, 0},
                {"memory of several GPUs", {.device = 1, .gpu = -1, .spread = 1}, 0},
                {"managed memory", {.gpu = 0}, 0},
                {"managed and ordinary memory", {.host = 1, .gpu = 0}, 0}};
    static struct tutti_p2p_worker worker;
    static struct tutti_p2p_recv recv;
    const struct tutti_p2p_fetch fetch = {.worker = &worker, .recv = &recv};
    const struct tutti_plan *const plan = (const struct tutti_plan *)&recv; /* that nothing looks into */
    worker.endpoint = endpoint;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recv.elements.places = rows[i].places;
        recv.elements.plan = plan;
        recv.rts.rank = PEER;
        recv.bytes = SHORT;
        notes = 0;
        tutti_to_host_note(&fetch);
        CHECK(notes == 1 && noted == rows[i].host, "%s: %d notes, of memory of the host %d", rows[i].name, notes,
              noted);
        recv.bytes = SHORT + 1;
        tutti_to_host_note(&fetch);
        recv.bytes = SHORT;
        recv.rts.rank = SELF;
        tutti_to_host_note(&fetch);
        recv.rts.rank = PEER;
        recv.elements.plan = NULL;
        tutti_to_host_note(&fetch);
        CHECK(notes == 1, "%s: longer messages, those of the rank itself or without a plan are noted", rows[i].name);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
