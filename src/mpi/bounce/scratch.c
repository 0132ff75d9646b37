#include "mpi/bounce/scratch.h"

#include "core/settings.h"
#include "dtype/aware.h"
#include "mpi/bounce/overrun.h"
#include "mpi/real/door.h"
#include "progress/gate.h"

/* In strict mode the memory of a simulated device is out of an MPI's reach. */
static int scratch_wanted(const struct tutti_places *places, size_t bytes)
{
    const struct tutti_settings *settings = tutti_settings();
    return tutti_door.aware && places && places->device && tutti_places_reached(places) &&
           tutti_aware_on_device(bytes) && !(settings->host_strict && tutti_door.device->simulates);
}

/* No host memory can be registered now: ordinary memory does, at the speed of copies from there. */
static void *scratch_memory(struct tutti_scratch *scratch, size_t bytes)
{
    if (!scratch->bounce && tutti_gate_closed()) {
        scratch->bounce = tutti_bounce_take(tutti_ordinary_kind(), -1, bytes);
        scratch->ordinary = 1;
    }
    return scratch->bounce ? scratch->bounce->memory : NULL;
}

void *tutti_scratch_take(struct tutti_scratch *scratch, const struct tutti_places *places, size_t bytes)
{
    *scratch = (struct tutti_scratch){.bounce = NULL};
    if (scratch_wanted(places, bytes))
        scratch->bounce = tutti_bounce_take(&tutti_bounce_device, places->gpu, bytes);
    scratch->on_device = scratch->bounce != NULL;
    if (!scratch->bounce)
        scratch->bounce = tutti_bounce_take(tutti_overrun_kind(), -1, bytes);
    return scratch_memory(scratch, bytes);
}

void *tutti_scratch_take_image(struct tutti_scratch *scratch, size_t bytes, int sent)
{
    const struct tutti_bounce_kind *kind = tutti_image_kind();
    if (sent && kind == tutti_overrun_kind()) /* nothing is written over its end */
        kind = &tutti_bounce_pinned;
    *scratch = (struct tutti_scratch){.bounce = tutti_bounce_take(kind, -1, bytes)};
    return scratch_memory(scratch, bytes);
}

void *tutti_scratch_take_sent(struct tutti_scratch *scratch, size_t bytes, int brief)
{
    *scratch = (struct tutti_scratch){.bounce = brief ? tutti_bounce_take_kept(tutti_overrun_kind(), -1, bytes) : NULL};
    if (!scratch->bounce)
        scratch->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    return scratch_memory(scratch, bytes);
}

void *tutti_scratch_take_ordinary(struct tutti_scratch *scratch, size_t bytes)
{
    *scratch = (struct tutti_scratch){.bounce = tutti_bounce_take(tutti_ordinary_kind(), -1, bytes)};
    return scratch->bounce ? scratch->bounce->memory : NULL;
}

void tutti_scratch_give(struct tutti_scratch *scratch)
{
    tutti_bounce_give(scratch->bounce);
    scratch->bounce = NULL;
}
