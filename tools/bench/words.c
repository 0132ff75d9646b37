/* Words of the options of tutti bench: sizes, names out of a list, and whether together they make a call. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "device/device.h"
#include "tools/bench/bench.h"

unsigned bench_some_of(const char *option, const char *words, const char *const names[], int n)
{
    if (strcmp(words, "all") == 0)
        return n == 32 ? UINT_MAX : (1u << n) - 1;
    unsigned mask = 0;
    char *copy = tool_print("%s", words), *rest = copy, *word;
    while ((word = strsep(&rest, ",")) != NULL)
        mask |= 1u << tool_one_of(option, word, names, n);
    free(copy);
    return mask;
}

static void add_size(const char *text, const char *word, struct bench_options *out)
{
    size_t bytes;
    if (!tool_size(word, &bytes) || bytes == 0)
        tool_refuse("-m %s: '%s' is not a size; 8, 64k or 1m are, a range is like 8:1m, a list like 8,2k,1m", text,
                    word);
    if (out->n_sizes == BENCH_SIZES)
        tool_refuse("-m %s: more than %d sizes", text, BENCH_SIZES);
    out->sizes[out->n_sizes++] = bytes;
}

void bench_sizes_read(const char *text, struct bench_options *out)
{
    char *copy = tool_print("%s", text), *rest = copy, *word, *colon = strchr(copy, ':');
    out->n_sizes = 0;
    out->sizes_given = 1;
    if (!colon) {
        /* One size alone is the last of a range that begins at 8, or at the size of the type. */
        out->sizes_given = strchr(text, ',') != NULL;
        while ((word = strsep(&rest, ",")) != NULL)
            add_size(text, word, out);
        free(copy);
        return;
    }
    *colon = '\0';
    size_t least, most;
    if (!tool_size(copy, &least))
        tool_refuse("-m %s: '%s' is not a size; 8, 64k or 1m are", text, copy);
    if (least == 0)
        tool_refuse("-m %s: sizes double from MIN, so it cannot be 0", text);
    if (!tool_size(colon + 1, &most) || most == 0)
        tool_refuse("-m %s: '%s' is not a size; a range is like 8:1m", text, colon + 1);
    if (least > most)
        tool_refuse("-m %s: the first size is larger than the last; a range is like 8:1m", text);
    for (size_t bytes = least; bytes <= most && out->n_sizes < BENCH_SIZES; bytes *= 2)
        out->sizes[out->n_sizes++] = bytes;
    free(copy);
}

/* Sizes that double up to the one that was given, from the first that the type has. */
static void fill_range(struct bench_options *o, size_t size)
{
    size_t most = o->sizes[0], least = most < 8 ? most : 8;
    if (least < size)
        least = size;
    if (least > most)
        tool_refuse("-m: the last size, %zu bytes, is below the first, %zu", most, least);
    o->n_sizes = 0;
    for (size_t bytes = least; bytes <= most; bytes *= 2)
        o->sizes[o->n_sizes++] = bytes;
}

static void check_sizes(const struct bench_options *o, int type)
{
    size_t size = tutti_type_size(type);
    for (int i = 0; i < o->n_sizes; i++) {
        if (o->sizes[i] % size != 0)
            tool_refuse("-m: %s%zu bytes%s not a whole number of %s (%zu bytes each)",
                        i == 0 && !o->pairs ? "the first size, " : "", o->sizes[i],
                        i == 0 && !o->pairs ? ", is" : " are", tutti_type_name(type), size);
        if (o->sizes[i] / size > INT_MAX)
            tool_refuse("-m: %zu bytes are more than %d elements of %s, the most that MPI_%s takes", o->sizes[i],
                        INT_MAX, tutti_type_name(type), o->kind->call);
    }
}

static void check_pairs(struct bench_options *o)
{
    int legal = 0;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        if (!(o->types >> type & 1))
            continue;
        for (int op = 0; op < TUTTI_OPS; op++)
            legal += o->ops >> op & 1 && tutti_has_kernel(type, op);
        check_sizes(o, type);
    }
    if (!legal)
        tool_refuse("none of the operators of --ops is legal on one of the types of --types");
}

void bench_check_call(struct bench_options *o)
{
    if (o->pairs) {
        check_pairs(o);
        return;
    }
    if (!tutti_has_kernel(o->type, o->op)) {
        const char *right[TUTTI_OPS];
        int n = 0;
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (tutti_has_kernel(o->type, op))
                right[n++] = tutti_op_name(op);
        }
        tool_refuse("--op %s is not legal on %s: legal are %s", tutti_op_name(o->op), tutti_type_name(o->type),
                    tool_join(right, n));
    }
    if (!o->sizes_given)
        fill_range(o, tutti_type_size(o->type));
    check_sizes(o, o->type);
}

void bench_check_device(const struct bench_options *options)
{
    const struct tutti_device *device = tutti_device();
    char why[512] = "";
    if (!device)
        tool_refuse("the device none leaves no device memory to measure: use --device cuda or --device host");
    if (!device->open || device->open(why, sizeof why) != 0)
        tool_refuse("the %s device cannot be used: %s; --device host needs no GPU", device->name,
                    why[0] ? why : "it is not in this build");
    if (options->order == BENCH_GRAPH && !device->graphs)
        tool_refuse("--order graph needs CUDA: the %s device has no graphs; --order stream runs there", device->name);
}
