/* Prepared launches: they have copies of their arguments. */
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "device/host/host.h"
#include "kernels/args.h"
#include "kernels/pack_args.h"

struct tutti_prepared {
    struct tutti_launch launch;
    struct tutti_flow_args flow;
    struct tutti_update_args update;
    struct tutti_pack_args *pack; /* not NULL: a packing kernel's */
    struct tutti_pack_reach *reach;
    unsigned reaches;
};

int tutti_host_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                              struct tutti_prepared **out)
{
    (void)stream;
    struct tutti_prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return TUTTI_ERR_MEMORY;
    prepared->launch = *launch;
    if (launch->flow) {
        prepared->flow = *launch->flow;
        prepared->launch.flow = &prepared->flow;
    }
    if (launch->update) {
        prepared->update = *launch->update;
        prepared->launch.update = &prepared->update;
    }
    *out = prepared;
    return TUTTI_OK;
}

int tutti_host_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_prepared **out)
{
    (void)stream;
    struct tutti_prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return TUTTI_ERR_MEMORY;
    prepared->pack = malloc(launch->args->head.bytes);
    prepared->reach = calloc(launch->reaches + 1, sizeof *prepared->reach);
    prepared->reaches = launch->reaches;
    if (!prepared->pack || !prepared->reach) {
        tutti_host_launch_drop(prepared);
        return TUTTI_ERR_MEMORY;
    }
    memcpy(prepared->pack, launch->args, launch->args->head.bytes);
    for (unsigned i = 0; i < launch->reaches; i++)
        prepared->reach[i] = launch->reach[i];
    *out = prepared;
    return TUTTI_OK;
}

int tutti_host_launch_prepared(struct tutti_stream *stream, struct tutti_prepared *prepared)
{
    const struct tutti_pack_launch pack = {prepared->pack, prepared->reach, prepared->reaches};
    return prepared->pack ? tutti_host_launch_pack(stream, &pack) : tutti_host_launch(stream, &prepared->launch);
}

void tutti_host_launch_drop(struct tutti_prepared *prepared)
{
    if (!prepared)
        return;
    free(prepared->pack);
    free(prepared->reach);
    free(prepared);
}
