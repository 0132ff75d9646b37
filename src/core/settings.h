/* Settings, made from include/tutti/settings.def and read from the environment once. */
#ifndef TUTTI_CORE_SETTINGS_H
#define TUTTI_CORE_SETTINGS_H

#include <stddef.h>

struct tutti_settings {
#define TUTTI_SETTING_INT(group, field, name, standard, least, most, when, text) long field;
#define TUTTI_SETTING_WORD(group, field, name, standard, words, when, text)      int field;
#define TUTTI_SETTING_TEXT(group, field, name, standard, when, text)             const char *field;
#include "tutti/settings.def"
};

/* Positions of the words in the lists of settings.def. */
enum { TUTTI_SET_DEVICE_AUTO, TUTTI_SET_DEVICE_CUDA, TUTTI_SET_DEVICE_HOST, TUTTI_SET_DEVICE_NONE };
enum { TUTTI_SET_STATS_NO, TUTTI_SET_STATS_YES, TUTTI_SET_STATS_TIMES };
enum { TUTTI_SET_WAIT_AUTO, TUTTI_SET_WAIT_SPIN, TUTTI_SET_WAIT_YIELD, TUTTI_SET_WAIT_SLEEP };
enum { TUTTI_SET_THREAD_AFFINITY_AUTO, TUTTI_SET_THREAD_AFFINITY_BOUND };
enum { TUTTI_SET_LOG_QUIET, TUTTI_SET_LOG_ERROR, TUTTI_SET_LOG_WARN, TUTTI_SET_LOG_INFO, TUTTI_SET_LOG_DEBUG };
enum { TUTTI_SET_ORDER_PLACEMENT, TUTTI_SET_ORDER_RANKS };
enum { TUTTI_SET_AUTO, TUTTI_SET_NO, TUTTI_SET_YES };
enum { TUTTI_SET_SHMEM_HEAP_AUTO, TUTTI_SET_SHMEM_HEAP_DEVICE, TUTTI_SET_SHMEM_HEAP_HOST };
enum { TUTTI_SET_SHMEM_RING_AUTO, TUTTI_SET_SHMEM_RING_FORCE, TUTTI_SET_SHMEM_RING_OFF };
enum { TUTTI_SET_SHMEM_ERRORS_AUTO, TUTTI_SET_SHMEM_ERRORS_ABORT, TUTTI_SET_SHMEM_ERRORS_RETURN };

/* The process's settings. Local, safe from any thread; reads the environment at the first call. A value that is not
 * valid is reported once on standard error and its default is used. */
const struct tutti_settings *tutti_settings(void);

/* Waits of this process go on as the policy (TUTTI_SET_WAIT_...) has it, in place of TUTTI_WAIT: the bench compares
 * policies in one run. Local, safe from any thread. Returns the policy that was in force. */
int tutti_settings_wait(int policy);

/* Reads the environment into *out and writes what is wrong, one line a setting, into `wrong` (cut at `size` bytes).
 * Returns TUTTI_OK or TUTTI_ERR_SETTING; *out is complete either way. Unknown names that begin with TUTTI_ are
 * reported, with the nearest known name. */
int tutti_settings_read(struct tutti_settings *out, char *wrong, size_t size);

/* One setting as text, for `tutti info`. */
struct tutti_setting_row {
    const char *group; /* title */
    const char *name, *standard, *allowed, *when, *text;
    int set; /* the value in force is not the default */
    char value[256];
};
int tutti_settings_row(int index, struct tutti_setting_row *out); /* 1, or 0 past the last */

#endif
