/* Sizes as people write them. */
#ifndef TUTTI_CORE_SIZE_H
#define TUTTI_CORE_SIZE_H

#include <stddef.h>

/* Digits, then k, m or g or none of them: "64k" is 65536. Moves *at behind them. 0 where there is no number, or it is
 * too large; *at is anywhere then. Local, any thread. */
int tutti_size_read(const char **at, size_t *out);

#endif
