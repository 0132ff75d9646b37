#include "bench/shmem/side.h"

#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/helper.h"
#include "bench/shmem/host.h"
#include "coll/coll.h"
#include "shmem/proxy/proxy.h"
#include "tutti/shmem.h"
#include "tutti/tutti.h"

const struct gas_side *gas_load(const char *name, char *why, size_t size)
{
    return bench_helper(name, GAS_SIDE_SYMBOL, why, size);
}

int gas_kernels(struct gas_side *out, char *why, size_t size)
{
    *out = (struct gas_side){.name = "tutti", .run = gas_host_run};
    if (bench_on_host())
        return 0;
    const struct gas_side *kernels = gas_load("tutti-bench-shmem-cuda.so", why, size);
    if (!kernels)
        return -1;
    out->run = kernels->run;
    out->open = kernels->open;
    out->groups = 1;
    return 0;
}

int gas_cuts_of_rules(struct gas_cuts *out)
{
    return tutti_cutovers(out->bytes);
}

int gas_init(void)
{
    char wrong[320];
    tutti_rules_set("shmem_put_1: *@copy_engine", wrong, sizeof wrong); /* makes the ring */
    const int status = tshmem_init();
    tutti_rules_set(NULL, wrong, sizeof wrong);
    return status;
}

int gas_has_ring(void)
{
    return tshmem_state_get()->ring.slots != 0;
}

void gas_state(enum gas_ring how, const struct gas_cuts *cuts, struct tshmem_state *out)
{
    int reached = 1;
    *out = *tshmem_state_get();
    for (int pe = 0; pe < out->pes; pe++)
        reached = reached && out->peer[pe];
    if (out->ring.slots == 0)
        return;
    if (how == GAS_RING_NONE && reached) {
        memset(&out->ring, 0, sizeof out->ring);
        return;
    }
    out->ring.elements = how == GAS_RING_ALL;
    out->ring.atomics = how == GAS_RING_ALL || !reached;
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++) {
        const int cut = i / TSHMEM_GROUPS, group = i % TSHMEM_GROUPS;
        out->ring.cutover[cut][group] = how == GAS_RING_ALL ? 1 : how == GAS_RING_CUT ? cuts->bytes[cut][group] : 0;
    }
}
