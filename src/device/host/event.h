/* What streams and events of the host device do for each other. */
#ifndef TUTTI_DEVICE_HOST_EVENT_H
#define TUTTI_DEVICE_HOST_EVENT_H

#include "device/host/work.h"

/* Record `number` of the event is done. */
void tutti_host_event_reach(struct tutti_event *event, unsigned long number);
/* Waits until it is. */
void tutti_host_event_await(struct tutti_event *event, unsigned long number);
/* Work of a stream no longer refers to the event; the last user frees it. */
void tutti_host_event_drop(struct tutti_event *event);
/* Puts work into the stream. */
int tutti_host_submit(struct tutti_stream *stream, struct tutti_work *work);

#endif
