/* Device memory that is attached to dynamic windows. Each rank has rows that say what it has attached; all ranks of the
 * window can read them. So the origin of an operation finds by the target's address where it lies: in a region that
 * ranks map (mapped_attach.c), or in one that has a public copy in host memory, which is attached to the MPI's window
 * in its place. An address that is in no row is the MPI's. */
#ifndef TUTTI_MPI_RMA_ATTACHMENTS_H
#define TUTTI_MPI_RMA_ATTACHMENTS_H

#include "mpi/rma/slots.h"
#include "mpi/rma/windows.h"

/* A region that was found. */
struct tutti_attachment {
    unsigned row;
    uint32_t generation;
    int mapped;
    uint64_t base, bytes, copy;
};

struct tutti_attachments {
    int n, rank;
    unsigned rows;   /* of each rank */
    uint64_t window; /* whose rows these are: the number of a window of one node, 0 where `far` */
    int far;         /* rows travel by `hidden`, a window whose memory they are */
    MPI_Win hidden;
    pthread_mutex_t *mutex; /* of the own rows */
    pthread_mutex_t far_mutex;
    struct tutti_attached_row *row[]; /* [n], of each rank the first */
};

/* Local: the caller fills in where the rows are. NULL without memory. */
struct tutti_attachments *tutti_attachments_of(int n, int rank, unsigned rows, uint64_t window);
/* Collective over `comm`: rows that travel by the MPI. *out is NULL on all ranks where that cannot be. An MPI code. */
int tutti_attachments_open(struct tutti_attachments **out, MPI_Comm comm);
/* Collective where the rows travel by the MPI. NULL is fine. */
void tutti_attachments_close(struct tutti_attachments *attached);
/* The region of the target that holds the address. 0: none. */
int tutti_attachments_find(const struct tutti_attachments *attached, int target, uint64_t at,
                           struct tutti_attachment *out);
/* The region of this row; its generation is 0 if the row is not in use. -1: no row from here on was ever used. */
int tutti_attachments_at(const struct tutti_attachments *attached, int target, unsigned i,
                         struct tutti_attachment *out);
/* A region of this rank's, of any window of the node. 1 if the row is in use. */
int tutti_attachments_own(unsigned i, struct tutti_attachment *out);
/* The row of this rank whose region begins at the address; -1: none. */
int tutti_attachments_begins(const struct tutti_attachments *attached, uint64_t base);
/* 1 if the rank has attached device memory ever, of one node: to any window. */
int tutti_attachments_any(const struct tutti_attachments *attached, int target);
/* 1 if any rank has a region with a public copy: the window has two copies. */
int tutti_attachments_separate(const struct tutti_attachments *attached);
/* A row of this rank's for a region; -1: all are in use. It is seen by all ranks after tutti_attachments_add(). An MPI
 * code. */
int tutti_attachments_row(struct tutti_attachments *attached);
int tutti_attachments_add(struct tutti_attachments *attached, int row, const struct tutti_attachment *region);
int tutti_attachments_remove(struct tutti_attachments *attached, int row);

#endif
