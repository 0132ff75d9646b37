/* What a process holds of the machine, to see whether it grows. */
#ifndef TUTTI_TESTS_LEFT_H
#define TUTTI_TESTS_LEFT_H

struct left {
    long descriptors;
    long shared;    /* of the host device's memory: mappings of it */
    long mappings;  /* of anything */
    long kilobytes; /* resident */
    long threads;
};

void left_now(struct left *out);
/* Counts a check for descriptors and for each kind of mapping: none has grown by more than `slack`. */
void left_compare(const char *what, const struct left *before, const struct left *after, long slack);

#endif
