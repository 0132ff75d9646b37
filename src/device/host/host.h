/* Operations of the host device, private to its room. device/device.h describes each. */
#ifndef TUTTI_DEVICE_HOST_HOST_H
#define TUTTI_DEVICE_HOST_HOST_H

#include "device/device.h"
#include "device/host/arena.h"

/* memory.c: by the program, or by a call of Tutti. */
enum { TUTTI_HOST_TUTTIS, TUTTI_HOST_CLEARED, TUTTI_HOST_PROGRAMS };
int tutti_host_allocate(int gpu, size_t bytes, int how, void **device);
int tutti_host_alloc(int gpu, size_t bytes, void **device);
int tutti_host_alloc_cleared(int gpu, size_t bytes, void **device);
int tutti_host_free(void *device);
void tutti_host_classify(const void *pointer, struct tutti_memory *out);
int tutti_host_alloc_pinned(size_t bytes, void **host);
int tutti_host_free_pinned(void *host);
int tutti_host_map_host(int gpu, void *host, size_t bytes, void **device);
int tutti_host_unmap_host(int gpu, void *host);
int tutti_host_export(const void *device, struct tutti_export *out, int *fd);
int tutti_host_import(int gpu, const struct tutti_export *what, int fd, void **base);
/* 1: memory of this process. */
int tutti_host_is_own(const struct tutti_export *what);
int tutti_host_release(int gpu, const struct tutti_export *what, void *base);
int tutti_host_reach_memory(int gpu, const void *device);

/* range.c. find: the piece that holds the address, as a region; 0 if none does. */
size_t tutti_host_range_grain(int gpu);
int tutti_host_range_open(int gpu, size_t bytes, void **base);
int tutti_host_range_add(int gpu, void *at, size_t bytes);
int tutti_host_range_import(int gpu, const struct tutti_export *what, int fd, void *at);
int tutti_host_range_cut(int gpu, void *at);
int tutti_host_range_close(int gpu, void *base);
int tutti_host_range_find(const void *pointer, struct tutti_host_region *out);
/* memory.c. A descriptor of `bytes` bytes; all of them are there, or, where `later`, come when they are touched. */
int tutti_host_memory(size_t bytes, int later, int *out);
/* What new memory holds where tests are strict. */
void tutti_host_poison(void *device, size_t bytes);
/* TUTTI_OK if the descriptor holds what is named. */
int tutti_host_check_import(const struct tutti_export *what, int fd);

/* Waits until all streams of the GPU have done what was put into them. */
void tutti_host_streams_drain(int gpu);
void tutti_host_streams_drain_all(void);
int tutti_host_stream_create(int gpu, struct tutti_stream **out);
int tutti_host_stream_wrap(int gpu, void *handle, struct tutti_stream **out);
int tutti_host_stream_identity(const struct tutti_stream *stream, int *gpu, void **handle);
int tutti_host_stream_order(const struct tutti_stream *stream);
int tutti_host_stream_capturing(struct tutti_stream *stream);
int tutti_host_stream_destroy(struct tutti_stream *stream);
int tutti_host_stream_sync(struct tutti_stream *stream);
int tutti_host_stream_query(struct tutti_stream *stream);
int tutti_host_event_create(int gpu, struct tutti_event **out);
int tutti_host_event_destroy(struct tutti_event *event);
int tutti_host_event_record(struct tutti_event *event, struct tutti_stream *stream);
int tutti_host_event_wait(struct tutti_stream *stream, struct tutti_event *event);
int tutti_host_event_query(struct tutti_event *event);
int tutti_host_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes);
int tutti_host_fill(struct tutti_stream *stream, void *device, int byte, size_t bytes);
int tutti_host_land(struct tutti_stream *stream, void *to, const void *from, size_t bytes, void *word, uint32_t value);
int tutti_host_call(struct tutti_stream *stream, void (*function)(void *with), void *with);
int tutti_host_launch(struct tutti_stream *stream, const struct tutti_launch *launch);
int tutti_host_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                              struct tutti_prepared **out);
int tutti_host_launch_prepared(struct tutti_stream *stream, struct tutti_prepared *prepared);
void tutti_host_launch_drop(struct tutti_prepared *prepared);
int tutti_host_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_prepared **out);
int tutti_host_launch_lane(struct tutti_stream *stream, const struct tutti_lane_args *args);
int tutti_host_launch_meet(struct tutti_stream *stream, const struct tutti_meet_args *args);
int tutti_host_launch_shmem(struct tutti_stream *stream, const struct tutti_shmem_args *args, unsigned threads);
int tutti_host_launch_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch);
int tutti_host_stay_pack(struct tutti_stream *stream, const struct tutti_pack_stay_args *args);
int tutti_host_mail_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_pack_mailed *out);
int tutti_host_copy_now(void *to, const void *from, size_t bytes);

#endif
