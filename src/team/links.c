#include "team/links.h"

#include <stdatomic.h>

#include "core/status.h"
#include "progress/beside.h"

static atomic_int begun;

static void open_beside(void *device)
{
    ((const struct tutti_device *)device)->gpu.open_links();
}

void tutti_links_open(const struct tutti_device *device)
{
    int not_yet = 0;
    if (!device->gpu.open_links || !atomic_compare_exchange_strong(&begun, &not_yet, 1))
        return;
    (void)tutti_beside_start(open_beside, (void *)(uintptr_t)device); /* without a thread the first question opens it */
}

void tutti_links_close(const struct tutti_device *device)
{
    if (device && device->gpu.open_links && atomic_load(&begun))
        device->gpu.open_links();
}
