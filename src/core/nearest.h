/* Which of some names a misspelt word may have meant. */
#ifndef TUTTI_CORE_NEAREST_H
#define TUTTI_CORE_NEAREST_H

#include <stddef.h>

/* The nearest of the n names to the first `length` bytes of `word`, by letters to change, to add, to leave out or to
 * swap with the next; -1 if it takes more than one for every three letters. Of equally near ones that which begins
 * with the word, then that of the same first letter, then the first. Local, any thread. */
int tutti_nearest(const char *word, size_t length, const char *const names[], int n);

#endif
