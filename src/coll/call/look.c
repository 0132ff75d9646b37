/* What memory the buffers of a reduction are. */
#include "coll/coll.h"
#include "device/found.h"

static int look_reaches(const struct tutti_memory *memory)
{
    return memory->kind == TUTTI_MEMORY_DEVICE || memory->kind == TUTTI_MEMORY_MANAGED;
}

void tutti_reduce_look(const struct tutti_device *device, struct tutti_call *call, struct tutti_memory *in,
                       struct tutti_memory *out)
{
    call->kind = TUTTI_ARRIVAL_HOST;
    call->gpu = -1;
    tutti_memory_at(device, call->in, in);
    *out = *in;
    if (call->out && call->out != call->in)
        tutti_memory_at(device, call->out, out);
    if (!look_reaches(in) || !look_reaches(out) || (in->gpu >= 0 && out->gpu >= 0 && in->gpu != out->gpu))
        return;
    call->kind = TUTTI_ARRIVAL_DEVICE;
    call->gpu = in->gpu >= 0 ? in->gpu : out->gpu;
    call->near = out->kind == TUTTI_MEMORY_DEVICE && out->gpu == call->gpu;
    call->in_id = in->id;
    call->out_id = out->id;
}
