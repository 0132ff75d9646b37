/* What a process holds of the machine, to see whether it grows. */
#ifndef TUTTI_TESTS_RESOURCES_H
#define TUTTI_TESTS_RESOURCES_H

struct resources {
    long descriptors;
    long shared;    /* of the host device's memory: mappings of it */
    long mappings;  /* of anything */
    long kilobytes; /* resident */
    long threads;
};

void resources_now(struct resources *out);
/* Counts a check for descriptors and for each kind of mapping: none has grown by more than `slack`. */
void resources_compare(const char *what, const struct resources *before, const struct resources *after, long slack);

#endif
