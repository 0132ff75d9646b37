/* Partitions of a round of a send, each of which is marked as ready once: by the program or by kernels. */
#ifndef TUTTI_PART_MARKS_H
#define TUTTI_PART_MARKS_H

#include <string.h>

#include "part/part.h"

struct tutti_part_marks {
    unsigned char *ready; /* [partitions]: 1: marked */
    int partitions, unready;
};

/* A round starts: none of so many partitions is marked. */
static inline void tutti_part_marks_start(struct tutti_part_marks *marks, int partitions)
{
    memset(marks->ready, 0, (size_t)partitions);
    marks->partitions = marks->unready = partitions;
}

/* Marks [first, last]. Nothing is marked if the answer is not FINE. */
static inline enum tutti_part_wrong tutti_part_mark(struct tutti_part_marks *marks, int first, int last)
{
    if (first < 0 || last < first || last >= marks->partitions)
        return TUTTI_PART_RANGE;
    const size_t n = (size_t)(last - first) + 1;
    if (memchr(marks->ready + first, 1, n))
        return TUTTI_PART_TWICE;
    memset(marks->ready + first, 1, n);
    marks->unready -= (int)n;
    return TUTTI_PART_FINE;
}

/* The same for a list. It is marked entry by entry, so an entry that occurs twice is found; then the marks are taken
 * back. */
static inline enum tutti_part_wrong tutti_part_mark_list(struct tutti_part_marks *marks, int n, const int partitions[])
{
    for (int i = 0; i < n; i++) {
        const enum tutti_part_wrong wrong = tutti_part_mark(marks, partitions[i], partitions[i]);
        if (wrong == TUTTI_PART_FINE)
            continue;
        marks->unready += i;
        while (i-- > 0)
            marks->ready[partitions[i]] = 0;
        return wrong;
    }
    return TUTTI_PART_FINE;
}

/* Entries from entry i on that follow each other. */
static inline int tutti_part_marks_run(int n, const int partitions[], int i)
{
    int length = 1;
    while (i + length < n && partitions[i + length] == partitions[i] + length)
        length++;
    return length;
}

#endif
