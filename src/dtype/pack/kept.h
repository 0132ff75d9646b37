/* Launches of packing kernels that a channel keeps ready: a launch repeated with the same arguments starts in a
 * third of the time of a fresh one. Programs often send from and receive into the same buffers. Private to src/dtype/.
 */
#ifndef TUTTI_DTYPE_PACK_KEPT_H
#define TUTTI_DTYPE_PACK_KEPT_H

#include "device/device.h"
#include "kernels/pack_args.h"

struct tutti_kept_packs;

/* Launches; if possible, as a launch that is kept ready. *all: the channel's, NULL at first. Only a launch of up to
 * TUTTI_PACK_FEW_BYTES of arguments is kept. */
int tutti_kept_packs_launch(struct tutti_kept_packs **all, const struct tutti_device *device,
                            struct tutti_stream *stream, const struct tutti_pack_launch *launch);
/* Makes launches ready that were repeated often enough since the last call, and drops old ones. May wait for running
 * kernels (device/device.h: launch.keep_pack). Takes NULL. */
void tutti_kept_packs_fill(struct tutti_kept_packs *all, const struct tutti_device *device,
                           struct tutti_stream *stream);
/* 1 if that has something to do. Takes NULL. */
int tutti_kept_packs_lack(const struct tutti_kept_packs *all);
/* The channel ends. Takes NULL. */
void tutti_kept_packs_free(struct tutti_kept_packs *all, const struct tutti_device *device);

#endif
