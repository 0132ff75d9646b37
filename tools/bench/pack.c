/* tutti bench pack: options, and the run. */
#include "tools/bench/pack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {"article", "blocks", "ddtbench", "commit"};
static const char *const description_names[] = {PACK_DESCRIPTIONS};
static const char *const way_names[] = {
#define PACK_WAY(id, name, text) name,
#include "bench/words/pack_ways.def"
#undef PACK_WAY
};
#define NAMES(list) list, (int)(sizeof(list) / sizeof((list)[0]))

enum { KEY_LAYOUT = BENCH_KEY_OWN, KEY_BLOCK, KEY_STRIDE, KEY_CUBE, KEY_PARTS, KEY_DESCRIPTIONS, KEY_WAYS };

static char none[] = "";
struct pack_options pack_options;
static struct bench_sheet sheet = {.options = &pack_options.bench, .name = BENCH_DOES_PACK};

static const struct argp_option pack_own[] = {
    {"ranks", 'n', "RANKS", 0, "1: packing is a local call", 1},
    {"layout", KEY_LAYOUT, "KIND", 0,
     "article (default): 1 MiB out of a cube of 1024^3 bytes. blocks: blocks of one length and distance. ddtbench: "
     "access patterns of applications. commit: the time of MPI_Type_commit",
     2},
    {"cube", KEY_CUBE, "BYTES", 0, "article: the cube's edge, a power of two (1024); its square is packed", 2},
    {"parts", KEY_PARTS, "LIST", 0, "article: bytes, rows and planes of the parts, with commas: 8/1024/128 (all)", 2},
    {"block", KEY_BLOCK, "BYTES", 0, "blocks: length of a block (8)", 2},
    {"stride", KEY_STRIDE, "BYTES", 0, "blocks: from a block to the next (twice the block)", 2},
    {"message-size", 'm', "SIZES", 0,
     "blocks: bytes of the message: [MIN:]MAX, doubling from MIN (8) to MAX (1m), or a list", 2},
    {"descriptions", KEY_DESCRIPTIONS, "LIST", 0,
     "Descriptions of a layout, with commas, or all (the default but for blocks: vector)", 2},
    {"ways", KEY_WAYS, "LIST", 0, "Other ways to measure, with commas: all (default), none, or of the list below", 3},
    {.name = NULL},
};

const char *pack_kind_name(int kind)
{
    return kind_names[kind];
}

static size_t read_bytes(const char *option, const char *text, size_t most)
{
    size_t bytes;
    if (!tool_size(text, &bytes) || bytes == 0 || bytes > most)
        tool_refuse("%s %s is not valid: give bytes from 1 to %zu", option, text, most);
    return bytes;
}

static unsigned read_ways(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, way_names + 1, PACK_WAYS - 1) << 1;
}

static int pack_take(int key, char *argument)
{
    struct pack_options *o = &pack_options;
    switch (key) {
    case 'n':
        if (strcmp(argument, "1") != 0)
            tool_refuse("-n %s: tutti bench pack has one rank: packing is a local call", argument);
        break;
    case KEY_LAYOUT:
        o->kind = tool_one_of("--layout", argument, NAMES(kind_names));
        break;
    case KEY_BLOCK:
        o->block = read_bytes("--block", argument, 1 << 30);
        break;
    case KEY_STRIDE:
        o->stride = read_bytes("--stride", argument, 1 << 30);
        break;
    case KEY_CUBE:
        o->cube = read_bytes("--cube", argument, 2048);
        break;
    case KEY_PARTS:
        o->parts = argument;
        break;
    case KEY_DESCRIPTIONS:
        if (strcmp(argument, "all") != 0)
            bench_some_of("--descriptions", argument, NAMES(description_names));
        o->descriptions = argument;
        break;
    case KEY_WAYS:
        o->ways = read_ways(argument);
        break;
    default:
        return 0;
    }
    return 1;
}

static const char pack_doc[] =
    "Measures MPI_Pack and MPI_Unpack on device memory, and in the same run the other ways to do the same.\v"
    "Times are medians over calls in microseconds, from the call until all is done. The other ways show theirs for "
    "pack and for unpack, and behind each (x) how many times Tutti's that is.\n\n"
    "Ways: plain (host device) is the plain MPI on ordinary memory; native is the MPI's own way with device "
    "pointers, where it has one; blocks copies block by block, with one wait at the end, of more than 4096 blocks "
    "4096 alone where all would take longer than a second: ~ then marks what was worked out from them; copy3d is "
    "one cuMemcpy3D where that can say the layout; limit is a contiguous copy that reads and writes as many bytes "
    "as packing has to: the message, and the 32-byte sectors that the blocks lie in.\n\n"
    "Descriptions: v_hv_hv, v_hv, hi (hindexed), hib (hindexed_block) and subarray are those of the article "
    "(\"Improving MPI_Pack performance in CUDA-aware MPI\") and one more; ddtbench has the application's own and "
    "hi. The spread is the slowest description's time in units of the fastest one's.\n\n"
    "Data is random. The last call of every way, inside the timed loop, gets new data and is checked: the message "
    "byte by byte, memory with its holes byte by byte up to 64 MiB, above at 64 places. The exit status is 1 if "
    "a result is wrong, 2 if an option or a setting is.";

static void check_parts(const struct pack_options *o)
{
    const char *at = o->parts;
    while (*at) {
        unsigned long extent[3];
        char *end;
        for (int d = 0; d < 3; d++) {
            extent[d] = strtoul(at, &end, 10);
            const char after = *end;
            if (end == at || extent[d] == 0 || extent[d] > o->cube || (d < 2 ? after != '/' : after && after != ','))
                tool_refuse("--parts %s: 8/1024/128 is a part; no number is above the cube's edge, %zu", o->parts,
                            o->cube);
            at = after ? end + 1 : end;
        }
    }
}

static void check_sizes(const struct pack_options *o)
{
    const struct bench_options *b = &o->bench;
    if (o->stride < o->block)
        tool_refuse("--stride %zu is less than --block %zu: blocks would lie one over the other", o->stride, o->block);
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] % o->block != 0)
            tool_refuse("-m: %zu bytes are not a whole number of blocks of %zu", b->sizes[i], o->block);
        if (b->sizes[i] > INT_MAX)
            tool_refuse("-m: %zu bytes are more than MPI_Pack takes", b->sizes[i]);
    }
}

/* One size alone is the last of a range that begins at a block of at least 8 bytes. */
static void fill_sizes(struct pack_options *o)
{
    struct bench_options *b = &o->bench;
    size_t most = b->n_sizes ? b->sizes[0] : (size_t)1 << 20, least = o->block;
    if (b->sizes_given)
        return;
    while (least < 8)
        least *= 2;
    if (least > most)
        tool_refuse("-m: the last size, %zu bytes, is below the first, %zu", most, least);
    b->n_sizes = 0;
    for (size_t bytes = least; bytes <= most && b->n_sizes < BENCH_SIZES; bytes *= 2)
        b->sizes[b->n_sizes++] = bytes;
}

static void pack_begin(const struct bench *bench)
{
    (void)bench;
    pack_options.block = 8;
    pack_options.cube = 1024;
    pack_options.parts = pack_options.descriptions = none;
    pack_options.ways = ~0u;
    pack_options.bench.ranks = 1;
    pack_options.bench.seconds = 0.25;
}

static void pack_check(void)
{
    struct pack_options *o = &pack_options;
    if (!o->stride)
        o->stride = 2 * o->block;
    if ((o->cube & (o->cube - 1)) != 0)
        tool_refuse("--cube %zu is not a power of two", o->cube);
    sheet.columns = o->kind == PACK_COMMIT ? &commit_columns : &pack_columns;
    if (o->kind == PACK_COMMIT)
        o->bench.check = 0; /* there are no data */
    check_parts(o);
    if (o->kind == PACK_STRIDED) {
        fill_sizes(o);
        check_sizes(o);
    }
}

static void pack_tell(struct tool_words *words)
{
    const struct pack_options *o = &pack_options;
    bench_word_add(words, "layout", o->kind);
    bench_word_add(words, "block", (long long)o->block);
    bench_word_add(words, "stride", (long long)o->stride);
    bench_word_add(words, "cube", (long long)o->cube);
    bench_word_add(words, "ways", o->ways);
    tool_words_take(words, tool_print("parts=%s", o->parts));
    tool_words_take(words, tool_print("descriptions=%s", o->descriptions));
}

const struct bench bench_pack = {
    .name = BENCH_DOES_PACK,
    .text = "MPI_Pack and MPI_Unpack of layouts on device memory, beside other ways",
    .does = BENCH_DOES_PACK,
    .spec = {.own = pack_own, .take = pack_take, .doc = pack_doc},
    .options = &pack_options.bench,
    .sheet = &sheet,
    .begin = pack_begin,
    .check = pack_check,
    .tell = pack_tell,
    .close = pack_end,
};
