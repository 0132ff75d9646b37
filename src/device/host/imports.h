/* Memory of other processes that this process has mapped, in strict mode alone. */
#ifndef TUTTI_DEVICE_HOST_IMPORTS_H
#define TUTTI_DEVICE_HOST_IMPORTS_H

#include "device/device.h"

/* 0 if kernels of `gpu` still have memory mapped that the owner has freed and whose addresses overlap `what`. */
int tutti_host_import_can(int gpu, const struct tutti_export *what);
/* `what` is mapped at `at` for kernels of `gpu`. */
void tutti_host_import_add(int gpu, const struct tutti_export *what, void *at);
/* What was mapped at `at` is released; `at` may be unknown. */
void tutti_host_import_end(const void *at);

#endif
