/* What a packing kernel is given: plain C, the same bytes for every device. A launch is a list of parts; a part is a
 * regular index space with a place on both sides, or a whole message that is looked up byte position by byte position.
 * The parts lie in the kernel's parameters: nothing of a launch has to outlive the call that makes it. All pointers are
 * those of the launching process. */
#ifndef TUTTI_KERNELS_PACK_ARGS_H
#define TUTTI_KERNELS_PACK_ARGS_H

#include <stdint.h>

enum {
    TUTTI_PACK_THREADS = 256,     /* of a thread block, where the device has them */
    TUTTI_PACK_FEW_BYTES = 512,   /* the three sizes of struct tutti_pack_args that devices launch: */
    TUTTI_PACK_SOME_BYTES = 4096, /* the least that is cheap, what every kernel may be given, */
    TUTTI_PACK_MANY_BYTES = 32752 /* and what newer ones may */
};

/* What a thread has under way at once: words; gather and scatter: words that a lane hands over in one turn; rows:
 * aligned 16 bytes. A tile is a multiple of what the threads of a block do in one round. */
#define TUTTI_PACK_WORDS_HELD(bytes) ((bytes) == 16 ? 4 : 8)
#define TUTTI_PACK_TURNS(bytes)      ((bytes) >= 8 ? 4 : (bytes) > 1 ? 8 : 16)
#define TUTTI_PACK_ROWS_HELD         2
#define TUTTI_PACK_JOIN_HELD         1                       /* of up to four times 16 bytes */
#define TUTTI_PACK_PLACES            8                       /* that are worked out at once */
#define TUTTI_PACK_SIDE(bytes)       ((bytes) < 4 ? 64 : 32) /* of a transpose's square */

enum tutti_pack_way {
    TUTTI_PACK_WORDS,     /* word by word, both sides */
    TUTTI_PACK_GATHER,    /* tiny blocks -> dense: narrow loads, 16-byte stores */
    TUTTI_PACK_SCATTER,   /* dense -> tiny blocks: 16-byte loads, narrow stores */
    TUTTI_PACK_TRANSPOSE, /* the fastest dimension of one side is not that of the other: square tiles */
    TUTTI_PACK_ROWS,      /* long rows, misaligned: aligned 16-byte accesses and a shift */
    TUTTI_PACK_JOIN,      /* the same -> dense */
    TUTTI_PACK_RAGGED,    /* a list of blocks of different lengths, 16 packed bytes at a time */
    TUTTI_PACK_LOCATE     /* anything into anything: each word's position is looked up on both sides */
};

/* A dimension of a part, innermost first. n / count == high half of (2 n) * magic, shifted right, for n < 2^31. */
struct tutti_pack_dim {
    int64_t from, to; /* bytes */
    uint32_t count;
    uint32_t magic;
    uint32_t shift;
    uint32_t pad;
};
/* The size of dimensions: no code divides by the count of the slowest one, which is left out except in transposes. */
#define TUTTI_PACK_DIMS_BYTES(way, dims) ((dims)*32u - ((dims) > 0 && (way) != TUTTI_PACK_TRANSPOSE ? 16u : 0))

enum {
    TUTTI_PACK_LIST_FROM = 1, /* list[index in dimension list_dim] is added on that side */
    TUTTI_PACK_LIST_TO = 2,
    TUTTI_PACK_LIST_WIDE = 4, /* lists of 64-bit numbers, otherwise 32-bit */
    TUTTI_PACK_TABLE = 8,     /* gather, scatter: places are looked up in a table of one element, not worked out */
    TUTTI_PACK_OUT = 16       /* ragged: into the list's blocks, otherwise out of them */
};

enum { TUTTI_PACK_NO_LIST = 255 };

/* As small as can be: a launch whose parameter has more than TUTTI_PACK_SOME_BYTES is a dear one. What only some parts
 * have lies behind their dimensions: the list, where one of these has one; in rows and join always struct
 * tutti_pack_bounds.
 */
struct tutti_pack_part {
    const unsigned char *from;
    unsigned char *to;
    uint32_t first; /* thread block with which the part begins */
    uint32_t units; /* words; gather, scatter, join, ragged: aligned 16 bytes of the dense side; rows: of the target.
                       Less than 2^31 */
    uint32_t tile;  /* units of a thread block */
    uint32_t
        block;   /* rows: bytes of one; gather, scatter, join, ragged: bytes of the dense side, or of one list there */
    uint16_t at; /* of the part's dimensions, table, lists or sides: 8 bytes, from the pool's start */
    uint16_t flags;
    uint8_t way;  /* enum tutti_pack_way */
    uint8_t word; /* 1, 2, 4, 8 or 16 bytes: all addresses of the part are multiples */
    uint8_t dims;
    uint8_t list_dim;
};

struct tutti_pack_bounds {
    const void *list;  /* in device memory */
    int64_t low, high; /* loads stay in [from + low, from + high) */
};

/* Locate: one side of a message. What it refers to lies `at` 8 bytes behind the struct tutti_pack_locate. */
struct tutti_pack_step {
    uint64_t count, packed;
    int64_t stride;
};
struct tutti_pack_segment {
    int64_t offset;
    uint64_t packed, block; /* as in plans: block 0 is that of the entry */
    uint64_t entries, pitch;
    const void *offsets; /* in device memory, 32 or 64 bits */
    const void *begins;
    uint32_t steps, list_at;
    uint32_t at; /* of its steps, slowest first */
    uint32_t wide;
};
struct tutti_pack_side {
    unsigned char *base;
    uint64_t size; /* of an element */
    int64_t extent;
    uint32_t segments; /* 0: dense, byte p is at base + p */
    uint32_t at;       /* of its segments */
};
struct tutti_pack_locate {
    uint64_t first; /* byte of the packed form with which the part begins */
    struct tutti_pack_side from, to;
};

/* Word k (of 1 << wide bytes) of every element lies at table[k] from the element; elements are `extent` apart. The
 * dense side begins with word `skip` (of the part's word) of the first element touched. */
struct tutti_pack_table {
    const int32_t *table; /* in device memory */
    int64_t extent;
    uint32_t skip;
    uint32_t words; /* of an element, of the part's word */
    uint32_t magic, shift;
    uint32_t wide, pad;
};

/* Entry e of a list has bytes [begins[e], begins[e + 1]) of it on the dense side, and lies at list[e] on the other
 * one; the entry in which byte k << TUTTI_PACK_GRAIN of the list lies is starts[k]. Lists are repeated
 * over the part's dimensions, which lie behind this. Either they follow each other on the dense side (units 0: magic
 * divides by `size`), or each is a row of its own there, of `units` aligned 16 bytes (magic divides by `units`).
 * Without dimensions the part begins with byte `skip` of the one list. */
enum { TUTTI_PACK_GRAIN = 9 };
struct tutti_pack_ragged {
    const void *list;   /* offsets, in device memory */
    const void *begins; /* as the list of 32 or 64 bits */
    const uint32_t *starts;
    uint64_t skip;
    uint32_t entries;
    uint32_t size; /* begins[entries]; without dimensions not looked at */
    uint32_t units;
    uint32_t magic, shift, pad;
};

struct tutti_pack_head {
    uint32_t parts;
    uint32_t blocks;        /* as launched */
    uint32_t launch_number; /* not zero: the last block stores it in *done when all is stored */
    uint32_t bytes;         /* of the whole struct */
    uint32_t near;          /* 1: all that is stored lies in the GPU's own memory, which makes the notice cheaper */
    uint32_t pad;
    volatile uint32_t *done; /* mapped host memory */
    uint32_t *ended;         /* device memory, zero between launches */
};

/* The pool: the parts, then what they refer to. */
struct tutti_pack_args {
    struct tutti_pack_head head;
    uint64_t pool[(TUTTI_PACK_MANY_BYTES - sizeof(struct tutti_pack_head)) / 8];
};

/* ---- a kernel that stays; see pack_stay.inc ---- */

enum {
    TUTTI_PACK_MAIL_BYTES = 256, /* of struct tutti_pack_args that it takes */
    TUTTI_PACK_MAIL_WORDS = TUTTI_PACK_MAIL_BYTES / 4,
    TUTTI_PACK_STAY_LIFE_NS = 2000000
};

/* The first bytes of a struct tutti_pack_args. */
struct tutti_pack_mailed {
    uint32_t word[TUTTI_PACK_MAIL_WORDS] __attribute__((aligned(16)));
};

/* A short mail: a copy of words side by side, by one warp, one block or several. It fills the first line of the mail
 * alone, so the kernel and the host pass one line to each other. These are its 32-bit words. */
enum tutti_pack_short {
    TUTTI_PACK_SHORT_WHAT, /* units, words of 1 << shift bytes: units | shift << TUTTI_PACK_SHORT_SHIFT | share <<
                              TUTTI_PACK_SHORT_SHARE | near | TUTTI_PACK_SHORT_MARK */
    TUTTI_PACK_SHORT_NUMBER,
    TUTTI_PACK_SHORT_FROM, /* addresses have two words, the low half first */
    TUTTI_PACK_SHORT_TO = 4,
    TUTTI_PACK_SHORT_DONE = 6,
    TUTTI_PACK_SHORT_WORDS = 8
};
#define TUTTI_PACK_SHORT_MARK 0x80000000u /* head.parts of any other mail is less */
#define TUTTI_PACK_SHORT_NEAR 0x40000000u
enum { TUTTI_PACK_SHORT_COUNT = 0x1fffff, TUTTI_PACK_SHORT_SHIFT = 21, TUTTI_PACK_SHORT_SHARE = 24 };
#define TUTTI_PACK_SHORT_SHIFT_OF(what) ((what) >> TUTTI_PACK_SHORT_SHIFT & 7)
/* The most units of a block: half of what its threads have under way at once, TUTTI_PACK_SHORT_HELD each. */
enum { TUTTI_PACK_SHORT_HELD = 8, TUTTI_PACK_SHORT_UNITS = TUTTI_PACK_SHORT_HELD * TUTTI_PACK_THREADS / 2 };
/* The most units that a single warp copies, two a thread: by eight a thread, 4 KiB took 2.5 us longer than by all warps
 * (two H200). */
enum { TUTTI_PACK_SHORT_ALONE = 64 };
/* Units of a share, TUTTI_PACK_THREADS, twice, four or eight times as many, and how many shares there are. A block
 * copies every share whose number is its own, beside multiples of the number of blocks. */
enum { TUTTI_PACK_SHARE_LEAST = 8 /* 1 << 8 threads */, TUTTI_PACK_SHARE_MOST = 3 };
#define TUTTI_PACK_SHARE_BITS(what) (TUTTI_PACK_SHARE_LEAST + ((what) >> TUTTI_PACK_SHORT_SHARE & 3))
#define TUTTI_PACK_SHARE_OF(what)   ((uint32_t)1 << TUTTI_PACK_SHARE_BITS(what))
#define TUTTI_PACK_SHARES_OF(what)                                                                                     \
    ((((what)&TUTTI_PACK_SHORT_COUNT) + TUTTI_PACK_SHARE_OF(what) - 1) >> TUTTI_PACK_SHARE_BITS(what))
/* Blocks that copy, of so many that there are. */
#define TUTTI_PACK_BLOCKS_OF(what, there) (TUTTI_PACK_SHARES_OF(what) < (there) ? TUTTI_PACK_SHARES_OF(what) : (there))
/* The most blocks of a kernel that stays, and how many times TUTTI_PACK_SHORT_UNITS each of several copies at most: 16
 * MiB in all. */
enum { TUTTI_PACK_STAY_BLOCKS = 64, TUTTI_PACK_STAY_TIMES = 16 };

/* In mapped host memory. Each word: the sequence of the mail, then 32 bits of struct tutti_pack_mailed, or of a short
 * mail. So no word of a mail is taken for one of another. */
struct tutti_pack_mail {
    uint64_t word[TUTTI_PACK_MAIL_WORDS];
};

struct tutti_pack_answer {
    uint32_t served; /* sequence of the last mail that was served */
    uint32_t left;   /* the number of the last launch that has left */
};

/* By which the first block of a kernel that stays passes short mails to the others, in device memory, all zero at
 * first.
 */
enum { TUTTI_PACK_RELAY_CLOSED = TUTTI_PACK_SHORT_WORDS, TUTTI_PACK_RELAY_WORDS = 16 };
struct tutti_pack_relay {
    /* The mail, each word with the number of the relay; then the number of the last launch whose first block has
     * left. */
    uint64_t word[TUTTI_PACK_RELAY_WORDS];
    uint32_t started; /* blocks of all launches that pass mails on */
    uint32_t ended;   /* blocks that have ended their share of the mail; zero between mails */
};

struct tutti_pack_stay {
    const volatile struct tutti_pack_mail *mail;
    struct tutti_pack_answer *answer; /* mapped host memory */
    uint64_t linger_ns;               /* how long it stays after each launch that it has served */
    uint32_t sequence;                /* of the last mail before its first */
    uint32_t number;                  /* of this launch; not 0 */
    uint32_t blocks;                  /* of this launch; where it is 1, the rest is not looked at */
    uint32_t started;                 /* relay->started before it */
    uint32_t relayed;                 /* numbers of relays begin behind this one */
    uint32_t pad;
    struct tutti_pack_relay *relay;
};

struct tutti_pack_stay_args {
    struct tutti_pack_stay stay;
    struct tutti_pack_mailed first; /* the launch's own work; of several blocks also as a short mail */
};

#endif
