#include "device/stream_sets.h"

#include "core/status.h"

void tutti_streams_end(struct tutti_stream *stream[], int streams, struct tutti_event *event[], int events)
{
    const struct tutti_device *device = tutti_device();
    for (int i = 0; i < events; i++) {
        if (event[i])
            device->event.destroy(event[i]);
        event[i] = NULL;
    }
    for (int i = 0; i < streams; i++) {
        if (stream[i])
            device->stream.destroy(stream[i]);
        stream[i] = NULL;
    }
}

int tutti_streams_make(int gpu, struct tutti_stream *stream[], int streams, struct tutti_event *event[], int events)
{
    const struct tutti_device *device = tutti_device();
    int status = TUTTI_OK;
    for (int i = 0; i < streams; i++)
        stream[i] = NULL;
    for (int i = 0; i < events; i++)
        event[i] = NULL;
    for (int i = 0; i < streams && status == TUTTI_OK; i++)
        status = device->stream.create(gpu, &stream[i]);
    for (int i = 0; i < events && status == TUTTI_OK; i++)
        status = device->event.create(gpu, &event[i]);
    if (status != TUTTI_OK)
        tutti_streams_end(stream, streams, event, events);
    return status;
}
