/* Rules of the sections file_write and file_read: how the bytes of a file access go between device memory and pinned
 * memory. */
#ifndef TUTTI_FILE_WAYS_H
#define TUTTI_FILE_WAYS_H

#include <stddef.h>

enum tutti_file_way {
    TUTTI_FILE_WHOLE,  /* one copy, beside nothing */
    TUTTI_FILE_KERNEL, /* likewise, by a kernel where the elements lie in one run */
    TUTTI_FILE_PIECES, /* where the access may be cut: pieces that grow and shrink, copied beside the access of others
                        */
    TUTTI_FILE_EVEN    /* the same, all as long as the first one */
};
/* Local. Of an access of so many bytes, a write or a read. */
enum tutti_file_way tutti_file_way(int writes, size_t bytes);

#endif
