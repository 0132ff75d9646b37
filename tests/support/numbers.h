/* Numbers of any width for the oracle: half precision, and elements loaded and stored by their size in bytes. */
#ifndef TUTTI_TESTS_SUPPORT_NUMBERS_H
#define TUTTI_TESTS_SUPPORT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

uint64_t numbers_load_bits(const void *from, size_t bytes);
void numbers_store_bits(void *to, uint64_t bits, size_t bytes); /* the lowest */
int64_t numbers_load_signed(const void *from, size_t bytes);
/* `type` tells the two half precision types of 2 bytes apart. */
double numbers_load_float(int type, const void *from, size_t bytes);
/* A NaN becomes the one of a result: quiet, positive, without payload. */
void numbers_store_float(int type, void *to, size_t bytes, double value);

#endif
