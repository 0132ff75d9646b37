#include "coll/rules/sections.h"

#include <string.h>

#include "coll/algorithm.h"

static int find_algorithm(const char *name)
{
    for (int i = 0; i < TUTTI_ALGORITHMS; i++) {
        if (strcmp(tutti_algorithms[i].name, name) == 0)
            return i;
    }
    return -1;
}

static const struct tutti_names algorithms = {
    .what = "algorithm",
#define TUTTI_ALGORITHM(name, order, text) #name " "
    .known =
#include "tutti/algorithms.def"
        ,
#undef TUTTI_ALGORITHM
    .find = find_algorithm,
};

static int find_transfer(const char *name)
{
    return strcmp(name, "direct") == 0        ? TUTTI_TRANSFER_DIRECT
           : strcmp(name, "copy_engine") == 0 ? TUTTI_TRANSFER_COPY_ENGINE
                                              : -1;
}

static const struct tutti_names transfers = {"way of kernels' transfers", "direct copy_engine", find_transfer};

/* Position of the name among the n names, -1: it is not there. */
static int position(const char *name, const char *const names[], int n)
{
    while (--n >= 0 && strcmp(names[n], name) != 0)
        ;
    return n;
}

static int find_stream_way(const char *name)
{
    static const char *const names[] = {
        [TUTTI_STREAM_CHANNEL] = "channel", [TUTTI_STREAM_BLOCK] = "block", [TUTTI_STREAM_BLOCKS] = "blocks"};
    return position(name, names, 3);
}

static int find_aware_place(const char *name)
{
    static const char *const names[] = {[TUTTI_AWARE_HOST] = "host", [TUTTI_AWARE_DEVICE] = "device"};
    return position(name, names, 2);
}

static const struct tutti_names stream_ways = {"way of a collective in stream order", "channel block blocks",
                                               find_stream_way};
static const struct tutti_names aware_places = {"place of scratch", "host device", find_aware_place};

static const struct tutti_section_row rows[TUTTI_SECTIONS] = {
    [TUTTI_SECTION_ALLREDUCE] = {"allreduce", &algorithms},
    [TUTTI_SECTION_REDUCE] = {"reduce", &algorithms},
    [TUTTI_SECTION_REDUCE_SCATTER] = {"reduce_scatter", &algorithms},
    [TUTTI_SECTION_SCAN] = {"scan", &algorithms},
    [TUTTI_SECTION_ALLREDUCE_ENQUEUE] = {"allreduce_enqueue", &algorithms},
    [TUTTI_SECTION_REDUCE_ENQUEUE] = {"reduce_enqueue", &algorithms},
    [TUTTI_SECTION_REDUCE_SCATTER_ENQUEUE] = {"reduce_scatter_enqueue", &algorithms},
    [TUTTI_SECTION_SCAN_ENQUEUE] = {"scan_enqueue", &algorithms},
    [TUTTI_SECTION_MESSAGE] = {"message", &tutti_protocol_names},
    [TUTTI_SECTION_MESSAGE_FAR] = {"message_far", &tutti_protocol_names_far},
    [TUTTI_SECTION_SHMEM_PUT_1] = {"shmem_put_1", &transfers},
    [TUTTI_SECTION_SHMEM_PUT_32] = {"shmem_put_32", &transfers},
    [TUTTI_SECTION_SHMEM_PUT_128] = {"shmem_put_128", &transfers},
    [TUTTI_SECTION_SHMEM_PUT_1024] = {"shmem_put_1024", &transfers},
    [TUTTI_SECTION_SHMEM_GET_1] = {"shmem_get_1", &transfers},
    [TUTTI_SECTION_SHMEM_GET_32] = {"shmem_get_32", &transfers},
    [TUTTI_SECTION_SHMEM_GET_128] = {"shmem_get_128", &transfers},
    [TUTTI_SECTION_SHMEM_GET_1024] = {"shmem_get_1024", &transfers},
    [TUTTI_SECTION_SHMEM_STREAM] = {"shmem_stream", &stream_ways},
    [TUTTI_SECTION_AWARE] = {"aware", &aware_places},
};

const struct tutti_sections tutti_sections = {rows, TUTTI_SECTIONS,
                                              "known are: allreduce, reduce, reduce_scatter, scan, the same with "
                                              "_enqueue, message and message_far, shmem_put_ and "
                                              "shmem_get_ with 1, 32, 128 and 1024, shmem_stream, aware"};

int tutti_rules_check(const char *text, char *wrong, size_t size)
{
    return tutti_grammar_check(&tutti_sections, text, wrong, size);
}

int tutti_rules_load(const char *path, const char *device, char *rules, size_t size, char *wrong, size_t wrong_size)
{
    return tutti_rules_file_load(&tutti_sections, path, device, rules, size, wrong, wrong_size);
}
