/* Sizes as people write them. */
#ifndef TUTTI_CORE_SIZE_H
#define TUTTI_CORE_SIZE_H

#include <stddef.h>

/* Digits, then optionally k, m or g: "64k" is 65536. Moves *at behind them. 0 if the number is missing or
 * too large; *at is anywhere then. Local, any thread. */
int tutti_size_read(const char **at, size_t *out);

#endif
