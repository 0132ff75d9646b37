/* Streams and events of a GPU that are made together. The owner stores the GPU's life beside them (core/lives.h). */
#ifndef TUTTI_DEVICE_STREAM_SETS_H
#define TUTTI_DEVICE_STREAM_SETS_H

#include "device/device.h"

/* Local. All of them, or none and a status. */
int tutti_streams_make(int gpu, struct tutti_stream *stream[], int streams, struct tutti_event *event[], int events);
/* Local. Takes those that are NULL, and leaves NULL. */
void tutti_streams_end(struct tutti_stream *stream[], int streams, struct tutti_event *event[], int events);

#endif
