/* What the tests of devices share. Every test runs on the device that its first argument names. */
#ifndef TUTTI_TESTS_DEVICE_KIT_H
#define TUTTI_TESTS_DEVICE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/status.h"
#include "device/device.h"
#include "kernels/args.h"

enum { KIT_SKIP = 77, KIT_SECONDS = 60 };

extern const struct tutti_device *device;

/* Opens the device of that name. 0; otherwise the exit status of a test that ends here, with a word on why. */
int kit_open(const char *name);
/* 1 if it is the device of that name. */
int kit_is(const char *name);
/* 1 if it is the host device in strict mode. */
int kit_strict(void);

/* Bytes that follow from `seed`. */
void kit_pattern(void *host, size_t bytes, uint64_t seed);
void *kit_alloc(size_t bytes);
void kit_free(void *pointer);
/* Fill memory of any kind with a pattern, and compare. The first failing byte is shown. */
void kit_put(void *any, size_t bytes, uint64_t seed);
int kit_holds(const void *any, size_t bytes, uint64_t seed);
/* Open descriptors of this process. */
int kit_descriptors(void);
/* Runs `body` in a child; its exit status, or minus the signal that ended it. The child lives KIT_SECONDS at most. */
int kit_child(int (*body)(void *), void *with);

/* Words that kernels and the host both see. */
struct kit_words {
    volatile uint32_t abort, done, where, failed;
};
struct kit_words *kit_words(struct kit_words **mapped);
void kit_words_free(struct kit_words *words);

#endif
