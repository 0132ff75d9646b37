/* tutti bench pack: layouts, their memory, and the ways to pack them. One rank. */
#ifndef TUTTI_BENCH_PACK_H
#define TUTTI_BENCH_PACK_H

#include "bench/common/columns.h"
#include "bench/words/pack_way.h"

struct pack_plan {
    enum pack_kind kind;
    size_t block, stride, cube; /* bytes; STRIDED: block and stride, ARTICLE: the edge */
    const char *parts;          /* ARTICLE: "8/1024/128,..."; "": all */
    const char *descriptions;   /* "v_hv,hib"; "all"; "": those of the kind */
    unsigned ways;              /* mask */
};

enum { PACK_DIMS = 2, PACK_NUMBERS = 8, PACK_DESCRIPTIONS_MOST = 8, PACK_SECTOR = 32 };

/* Blocks in the order of the message. Regular: `block` bytes, repeated over the dimensions, slowest first. Otherwise a
 * list. It says what is right, apart from the types that describe it. */
struct pack_piece {
    size_t offset, length;
};
struct pack_layout {
    char name[64];
    size_t block;
    int dims;
    struct {
        size_t count, stride;
    } dim[PACK_DIMS];
    struct pack_piece *piece; /* NULL: regular; owned */
    size_t pieces_room;
    size_t n, bytes; /* of the message */
    size_t room;     /* of the memory that it lies in */
    size_t touched;  /* bytes of the sectors that blocks lie in */
    int absolute;    /* the type holds addresses: the buffer is MPI_BOTTOM */
    const char *description[PACK_DESCRIPTIONS_MOST];
    int descriptions;
    /* A type that is not committed yet. base: of the memory. */
    MPI_Datatype (*make)(const struct pack_layout *layout, const char *description, char *base);
    size_t number[PACK_NUMBERS]; /* what `make` needs */
};

/* Layout i of the kind; 0: there are no more. Freed with pack_layout_free(). */
int pack_layout_make(const struct bench_plan *plan, const struct pack_plan *pack, int i, struct pack_layout *out);
void pack_layout_free(struct pack_layout *layout);
struct pack_piece pack_layout_piece(const struct pack_layout *layout, size_t i);
/* For those that make layouts: adds a block of a list; works out n, bytes and touched at the end. */
void pack_layout_add(struct pack_layout *layout, size_t offset, size_t length);
void pack_layout_end(struct pack_layout *layout);
/* Types of the layout's list of blocks: "hi", "hib", "indexed", "indexed_block" or "struct" (a member a block). */
MPI_Datatype pack_layout_listed(const struct pack_layout *layout, const char *description, const char *base);
/* `count` of `inner`, which goes, `stride` bytes apart. */
MPI_Datatype pack_layout_repeat(size_t count, size_t stride, MPI_Datatype inner);
int pack_layout_ddtbench(int i, struct pack_layout *out);
/* Layouts that are committed and not packed. */
int pack_layout_lists(int i, struct pack_layout *out);
/* Fails where MPI reports an error. */
void pack_mpi(int error, const char *call);
/* A number that is as good as random. */
uint64_t pack_mix(uint64_t x);

/* Memory of a layout, and a picture of what has to be in it. */
struct pack_set {
    int ordinary;      /* 1: not device memory */
    char *memory;      /* the layout's */
    char *in, *out;    /* messages: to be unpacked, and packed */
    char *image;       /* ordinary: what `memory` holds */
    char *message;     /* ordinary: a message, and room for one more */
    size_t room, most; /* bytes of memory, of a message */
};
/* Makes it large enough; what it holds is random then. */
void pack_set_room(struct pack_set *set, const struct pack_layout *layout, uint64_t seed);
void pack_set_free(struct pack_set *set);
/* set->in holds what the layout's blocks hold. */
void pack_set_settle(struct pack_set *set, const struct pack_layout *layout);
/* The first `n` blocks are going to be unpacked from a new message. */
void pack_set_renew(struct pack_set *set, const struct pack_layout *layout, size_t n, uint64_t seed);
/* Everything that packing the first n blocks has to write is wrong. */
void pack_set_spoil(struct pack_set *set, const struct pack_layout *layout, size_t n);
/* 1 if all is right; otherwise 0 with a text. Memory above 64 MiB is looked at in 64 places. */
int pack_set_check_packed(struct pack_set *set, const struct pack_layout *layout, size_t n, char *text, size_t size);
int pack_set_check_memory(struct pack_set *set, const struct pack_layout *layout, char *text, size_t size);

/* Copies by the driver on CUDA (done on return), by the library on the host device. */
void pack_copy_open(void);
void pack_copy_blocks(const struct pack_layout *layout, const struct pack_set *set, size_t n, int unpack);
/* 1 if one cuMemcpy3D can say it. */
int pack_copy_has_box(const struct pack_layout *layout);
void pack_copy_box(const struct pack_layout *layout, const struct pack_set *set, int unpack);
void pack_copy_flat(char *to, const char *from, size_t bytes);
/* Waits for all that the GPU does. */
void pack_copy_wait(void);

/* The times of a type that was just made, as enum commit_way; those without iterations are not known. */
void pack_commit_measure(const struct bench_plan *plan, const struct pack_layout *layout, const char *description,
                         struct bench_figures out[COMMIT_WAYS]);
void pack_commit_end(void);
/* Microseconds that the arguments of types took so far, which are not the MPI's. */
extern double pack_list_us;

void bench_pack(struct bench_plan *plan, const struct pack_plan *pack);

#endif
