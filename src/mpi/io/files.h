/* Files of the program: what Tutti keeps of a file handle, and one access of a file by way of host memory. All local;
 * MPI codes unless said otherwise. */
#ifndef TUTTI_MPI_IO_FILES_H
#define TUTTI_MPI_IO_FILES_H

#include "dtype/file_ways.h"
#include "mpi/bounce/stage.h"

/* 1 if the elements of a call are staged: *there is of the buffer then. An MPI that takes device memory in messages may
 * not take it in files. */
static inline int tutti_file_stages(const void *buffer, MPI_Datatype type, struct tutti_there *there)
{
    if (likely(!tutti_device_active(tutti_door.device)))
        return 0;
    return tutti_needs_host(buffer, type, there);
}

/* By the rules: `way` of a stage of so many bytes that is copied beside nothing. */
static inline int tutti_file_stage_way(int way, size_t bytes)
{
    return tutti_file_way((way & TUTTI_STAGE_IN) != 0, bytes) == TUTTI_FILE_KERNEL ? way | TUTTI_STAGE_KERNEL : way;
}

/* ---- files.c: file handles ---- */

/* The program has set a view with this elementary type and data representation. */
void tutti_file_viewed(MPI_File handle, MPI_Datatype type, const char *datarep);
/* 1 if the file holds bytes as they are in memory: then a type may be replaced by as many bytes. *etype (may be NULL):
 * bytes of the view's elementary type, in which offsets count. */
int tutti_file_is_native(MPI_File handle, MPI_Count *etype);
/* A split collective access has begun: keeps its stage until its end. 0: out of memory, the caller keeps the stage. */
int tutti_file_split(MPI_File handle, const struct tutti_stage *stage);
/* It ends: 1 and *stage; 0 if its buffer was not staged. */
int tutti_file_joined(MPI_File handle, struct tutti_stage *stage);
/* The file is closed. */
void tutti_file_forget(MPI_File handle);

/* ---- copy.c: copies beside file accesses ---- */

struct tutti_file_stream;
struct tutti_file_copy {
    struct tutti_file_stream *stream; /* in which it is under way; NULL: none is */
};
/* Begin the copy of a stage, in or out, in a stream. first: behind earlier work of the program's default stream. Where
 * no stream can copy the stage, the copy is complete on return. bytes: of a read. Statuses of Tutti. */
int tutti_file_copy_begin(struct tutti_file_copy *copy, struct tutti_stage *stage, int first, MPI_Count bytes);
/* Waits for it, if it is under way; polls the steps that are open. A status of Tutti, reported; on failure the memory
 * of the stage is not used again, since the device may still use it. */
int tutti_file_copy_wait(struct tutti_file_copy *copy, struct tutti_stage *stage, const char *call);

/* ---- access.c: one blocking access, in pieces where it may be cut ---- */

enum tutti_access_cut {
    TUTTI_ACCESS_WHOLE,   /* ordered, or of the shared pointer: one call */
    TUTTI_ACCESS_PIECES,  /* at the file pointer of this process */
    TUTTI_ACCESS_AT,      /* at an offset */
    TUTTI_ACCESS_ALONE,   /* collective: as PIECES, if no other rank has the file open */
    TUTTI_ACCESS_ALONE_AT /* likewise, as AT */
};

enum { TUTTI_FILE_SLOTS = 3 };
struct tutti_file_pace;
struct tutti_file_slot {
    struct tutti_stage stage; /* of a piece; or of none */
    struct tutti_file_copy copy;
    MPI_Count elements;
};

struct tutti_access {
    const char *call;
    MPI_File file;
    char *buffer;             /* of the program, */
    struct tutti_there there; /* and where it lies */
    MPI_Datatype type;
    MPI_Count count, done;              /* elements: of all, of the pieces before */
    const struct tutti_file_pace *pace; /* of the pieces; NULL: it is not cut */
    MPI_Count least, most;              /* of the pieces: elements of one, */
    MPI_Count unit;                     /* and each has a multiple of so many, but the last */
    int way;
    enum tutti_access_cut cut;
    MPI_Offset offset;     /* AT, or cut: of the first element, in elementary types of the view */
    MPI_Count size, etype; /* bytes of an element, and of an elementary type */
    MPI_Count extent, moved;
    MPI_Status *user, status;
    struct tutti_file_slot slot[TUTTI_FILE_SLOTS];
    unsigned current, ahead;   /* the slot whose piece the MPI gets; a write: slots behind it that are filled */
    MPI_Count reached;         /* elements of all pieces that were staged */
    struct tutti_stage *piece; /* what the MPI gets, */
    MPI_Count elements;        /* and how many; 0: nothing could be staged */
    int code;                  /* MPI_SUCCESS, or what the access fails with */
    int raised;                /* 1: the MPI has raised it */
};

/* Begins an access of a buffer for which tutti_file_stages() holds, and stages its first piece: the MPI is to be given
 * `elements` of piece->given at piece->host, with `status`. Out of memory: none, so that other ranks of a collective
 * access do not wait. */
void tutti_access_begin(struct tutti_access *access, enum tutti_access_cut cut, MPI_Offset offset);
/* The MPI has returned `code` for the piece. 1: another piece is staged. */
int tutti_access_more(struct tutti_access *access, int code);
/* Of the piece. */
MPI_Offset tutti_access_offset(const struct tutti_access *access);
/* Sets the file pointer to the piece. */
void tutti_access_point(struct tutti_access *access);
/* 1: access->code is to be raised on the file; 0: it is to be returned. */
int tutti_access_end(struct tutti_access *access);
/* The other half of a split access, or a nonblocking one: elements that were read go to the program's memory. */
int tutti_access_out(const char *call, struct tutti_stage *stage, const MPI_Status *status);

/* ---- file_request.c ---- */

struct tutti_request;
/* A nonblocking access by way of host memory, before the MPI's call. Takes over `stage`. NULL: out of memory. */
struct tutti_request *tutti_file_entry(MPI_File file, const char *call, const struct tutti_stage *stage);

#endif
