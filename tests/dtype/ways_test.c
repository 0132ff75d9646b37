/* Which way of the kernel the layouts of applications take, and in how many parts: what is slow is for what is odd. */
#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "describe_any.h"
#include "dtype/pack/jobs.h"
#include "support/check.h"
#include "support/random.h"

enum { LIST = 500, ADDRESS = 1 << 20 };

static struct any_room room;
static uint64_t state = 1;

/* Places with room for some `slot`s each, without a rule. */
static const int64_t *places(uint64_t slot)
{
    int64_t *offsets = any_take(&room, LIST, sizeof *offsets);
    for (int i = 0; i < LIST; i++)
        offsets[i] = (int64_t)((uint64_t)i * slot * 5 + random_next(&state) % 2 * slot);
    return offsets;
}

static const uint64_t *lengths(void)
{
    uint64_t *of = any_take(&room, LIST, sizeof *of);
    for (int i = 0; i < LIST; i++)
        of[i] = 1 + random_next(&state) % 200;
    return of;
}

static any_type equal_list(uint64_t bytes)
{
    return any_indexed(&room, LIST, NULL, 1, places(bytes), any_bytes(&room, bytes));
}

/* Of up to 200 elements of 8 bytes. */
static any_type unequal_list(void)
{
    return any_indexed(&room, LIST, lengths(), 0, places(400), any_bytes(&room, 8));
}

static any_type two(any_type a, int64_t at_a, any_type b, int64_t at_b)
{
    const uint64_t ones[] = {1, 1};
    const int64_t at[] = {at_a, at_b};
    const any_type members[] = {a, b};
    return any_struct(&room, 2, ones, at, members);
}

static any_type box(uint64_t z, uint64_t y, uint64_t x, uint64_t element)
{
    const uint64_t sizes[] = {130, 130, 130}, subsizes[] = {z, y, x}, starts[] = {1, 1, 1};
    return any_subarray(&room, 3, sizes, subsizes, starts, any_bytes(&room, element));
}

/* ---- layouts ---- */
static any_type milc(void)
{
    return any_vector(&room, 2, 1, 786432, any_vector(&room, 6 * 16, 1, 12288 * 8, any_bytes(&room, 24)));
}
static any_type nas_lu_x(void)
{
    return any_contiguous(&room, 512, any_bytes(&room, 40));
}
static any_type nas_lu_y(void)
{
    return any_vector(&room, 512, 1, 40 * 514, any_bytes(&room, 40));
}
static any_type nas_mg_x(void)
{
    return box(128, 128, 1, 8);
}
static any_type nas_mg_y(void)
{
    return box(128, 1, 128, 8);
}
static any_type wrf(void)
{
    return two(box(100, 3, 34, 4), 0, box(100, 3, 34, 4), 130 * 130 * 130 * 4 + 64);
}
static any_type fft(void)
{
    return any_contiguous(&room, 256,
                          any_resized(&room, 0, 16, any_vector(&room, 256, 1, 256 * 16, any_bytes(&room, 16))));
}
static any_type fft_small(void)
{
    return any_contiguous(&room, 256,
                          any_resized(&room, 0, 4, any_vector(&room, 256, 1, 256 * 4, any_bytes(&room, 4))));
}
static any_type lammps(void)
{
    const uint64_t ones[] = {1, 1, 1, 1, 1, 1};
    int64_t at[6];
    any_type members[6];
    for (int i = 0; i < 6; i++) {
        at[i] = i * (int64_t)ADDRESS;
        members[i] = equal_list(i % 2 ? 8 : 24);
    }
    return any_struct(&room, 6, ones, at, members);
}
static any_type specfem_oc(void)
{
    return equal_list(4);
}
static any_type specfem_cm(void)
{
    return two(equal_list(12), 0, equal_list(12), ADDRESS);
}
static any_type specfem_mt(void)
{
    return any_vector(&room, 7680, 1, 24, any_bytes(&room, 12));
}
static any_type unequal(void)
{
    return any_contiguous(&room, 3, unequal_list());
}
static any_type unequal_apart(void)
{
    return any_vector(&room, 7, 1, 3 << 20, unequal_list());
}
static any_type unequal_deep(void)
{
    return any_vector(&room, 5, 1, INT64_C(1) << 28, any_vector(&room, 7, 1, 3 << 20, unequal_list()));
}
static any_type two_unequal(void)
{
    return two(unequal_list(), 0, unequal_list(), 2 << 20);
}
static any_type unequal_and_more(void)
{
    return any_vector(&room, 100, 1, 5 << 20, two(unequal_list(), 0, box(1, 3, 3, 8), 2 << 20));
}
static any_type list_of_vectors(void)
{
    return any_indexed(&room, LIST, NULL, 1, places(4096), any_vector(&room, 10, 1, 40, any_bytes(&room, 8)));
}
static any_type vector_of_lists(void)
{
    return any_vector(&room, 50, 1, 9 << 20, equal_list(600));
}
static any_type vector_of_structs(void)
{
    return any_vector(&room, 300, 1, 100, two(any_bytes(&room, 8), 0, any_bytes(&room, 4), 12));
}
static any_type odd_rows(void)
{
    return any_vector(&room, 1000, 1, 128, any_bytes(&room, 63));
}
static any_type bytes_apart(void)
{
    return any_vector(&room, 5000, 1, 512, any_bytes(&room, 1));
}
static any_type one_byte(void)
{
    return any_bytes(&room, 1);
}
static any_type backwards(void)
{
    return any_vector(&room, 500, 1, -64, any_bytes(&room, 16));
}

static const struct {
    const char *name;
    any_type (*make)(void);
    uint64_t count;
    enum tutti_pack_way pack, unpack;
    unsigned parts; /* at most */
} layouts[] = {
    {"MILC su3 zdown", milc, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"NAS LU x", nas_lu_x, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"NAS LU y", nas_lu_y, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"NAS MG x", nas_mg_x, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"NAS MG y", nas_mg_y, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"WRF", wrf, 1, TUTTI_PACK_JOIN, TUTTI_PACK_ROWS, 2},
    {"FFT2D", fft, 1, TUTTI_PACK_TRANSPOSE, TUTTI_PACK_TRANSPOSE, 1},
    {"FFT2D of 4 bytes", fft_small, 1, TUTTI_PACK_TRANSPOSE, TUTTI_PACK_TRANSPOSE, 1},
    {"LAMMPS", lammps, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 6},
    {"SPECFEM3D oc", specfem_oc, 1, TUTTI_PACK_GATHER, TUTTI_PACK_SCATTER, 1},
    {"SPECFEM3D cm", specfem_cm, 1, TUTTI_PACK_GATHER, TUTTI_PACK_SCATTER, 2},
    {"SPECFEM3D mt", specfem_mt, 1, TUTTI_PACK_GATHER, TUTTI_PACK_SCATTER, 1},
    {"unequal blocks", unequal, 1, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 1},
    {"unequal blocks, a count", unequal, 200, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 1},
    {"unequal blocks in a vector", unequal_apart, 1, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 1},
    {"unequal blocks in a vector, a count", unequal_apart, 100, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 1},
    {"unequal blocks in two vectors", unequal_deep, 9, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 1},
    {"two lists of unequal blocks", two_unequal, 1, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 2},
    {"two lists of unequal blocks, a count", two_unequal, 500, TUTTI_PACK_RAGGED, TUTTI_PACK_RAGGED, 2},
    {"a list of vectors", list_of_vectors, 10, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"a vector of lists", vector_of_lists, 10, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"a vector of structs", vector_of_structs, 10, TUTTI_PACK_GATHER, TUTTI_PACK_SCATTER, 2},
    {"odd rows", odd_rows, 1, TUTTI_PACK_JOIN, TUTTI_PACK_ROWS, 1},
    {"single bytes", bytes_apart, 1, TUTTI_PACK_GATHER, TUTTI_PACK_SCATTER, 1},
    {"backwards", backwards, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"one byte", one_byte, 1, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"seven bytes", one_byte, 7, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"a run of 255 bytes", one_byte, 255, TUTTI_PACK_WORDS, TUTTI_PACK_WORDS, 1},
    {"a run of 1001 bytes", one_byte, 1001, TUTTI_PACK_ROWS, TUTTI_PACK_ROWS, 1},
};

static const struct tutti_plan *plan_of(any_type what)
{
    const struct tutti_plan *plan = NULL;
    if (!CHECK(tutti_plan_build(what, &plan) == TUTTI_OK, "a plan could not be built"))
        exit(1);
    return plan;
}

/* The parts of a job, which are not launched. */
static struct tutti_parts *parts_of(const struct tutti_pack_job *job)
{
    const struct tutti_repeat once = {.n = 1};
    struct tutti_parts *parts = tutti_parts_begin(tutti_device(), NULL, TUTTI_PACK_MANY_BYTES);
    const struct tutti_plan_image *to_image = job->to_plan ? tutti_image_find(job->to_plan, 0) : NULL;
    if (!parts ||
        !CHECK(tutti_job_add(parts, job, tutti_image_find(job->plan, 0), to_image, &once) == TUTTI_OK, "no parts"))
        exit(1);
    return parts;
}

static void check_ways(const struct tutti_pack_job *job, enum tutti_pack_way way, unsigned most, const char *name)
{
    struct tutti_parts *parts = parts_of(job);
    const struct tutti_pack_part *part = tutti_parts_at(parts);
    CHECK(parts->n >= 1 && parts->n <= most, "%s: %u parts", name, parts->n);
    for (uint32_t i = 0; i < parts->n; i++)
        CHECK(part[i].way == way, "%s: part %u of %u takes way %d, not %d", name, i, parts->n, part[i].way, (int)way);
    tutti_parts_end(parts, TUTTI_ERR_ARGUMENT, NULL);
}

/* From or into what is dense: packing, whatever the other side is. Between equal types: no lookup. */
static void check_relayouts(const struct tutti_plan *plan, uint64_t count, enum tutti_pack_way pack,
                            enum tutti_pack_way unpack, unsigned parts, const char *name)
{
    const struct tutti_plan *dense = plan_of(any_bytes(&room, plan->size));
    struct tutti_pack_job job = {.direction = TUTTI_RELAYOUT,
                                 .plan = plan,
                                 .count = count,
                                 .to_plan = dense,
                                 .to_count = count,
                                 .bytes = plan->size * count};
    check_ways(&job, pack, parts, name);
    job.plan = dense;
    job.to_plan = plan;
    check_ways(&job, unpack, parts, name);
    tutti_plan_drop(dense);
}

static void check_layout(size_t i)
{
    const struct tutti_plan *plan = plan_of(layouts[i].make());
    const char *name = layouts[i].name;
    struct tutti_pack_job job = {
        .plan = plan, .count = layouts[i].count, .bytes = plan->size * layouts[i].count, .direction = TUTTI_PACK};
    CHECK(tutti_pack_prepare(0, plan) == TUTTI_OK, "%s: not prepared", name);
    check_ways(&job, layouts[i].pack, layouts[i].parts, name);
    job.direction = TUTTI_UNPACK;
    check_ways(&job, layouts[i].unpack, layouts[i].parts, name);
    check_relayouts(plan, layouts[i].count, layouts[i].pack, layouts[i].unpack, layouts[i].parts, name);
    tutti_plan_drop(plan);
}

/* A list beside a box takes two ways, neither of them the lookup; a message cut anywhere a few more parts. */
static void check_mixed(void)
{
    const struct tutti_plan *plan = plan_of(unequal_and_more());
    struct tutti_pack_job job = {.plan = plan, .count = 3, .bytes = plan->size * 3};
    CHECK(tutti_pack_prepare(0, plan) == TUTTI_OK, "not prepared");
    for (int round = 0; round < 50; round++) {
        struct tutti_parts *parts = parts_of(&job);
        const struct tutti_pack_part *part = tutti_parts_at(parts);
        CHECK(parts->n >= 1 && parts->n <= 2 * 7, "a list and a box: %u parts", parts->n);
        for (uint32_t i = 0; i < parts->n; i++)
            CHECK(part[i].way != TUTTI_PACK_LOCATE, "a list and a box: part %u is looked up", i);
        tutti_parts_end(parts, TUTTI_ERR_ARGUMENT, NULL);
        job.first = random_next(&state) % (plan->size * 3);
        job.bytes = 1 + random_next(&state) % (plan->size * 3 - job.first);
        job.direction = round % 2 ? TUTTI_PACK : TUTTI_UNPACK;
    }
    tutti_plan_drop(plan);
}

/* Messages that are one again and again are one part. */
static void check_alike(void)
{
    enum { JOBS = 8 };
    const struct tutti_plan *plan = plan_of(box(3, 100, 3, 8));
    struct tutti_pack_job jobs[JOBS];
    struct tutti_repeat repeat;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct tutti_pack_job){.plan = plan,
                                          .count = 1,
                                          .memory = (void *)(uintptr_t)(ADDRESS + i * 17575760),
                                          .packed = (void *)(uintptr_t)(7 * ADDRESS + i * (int)plan->size),
                                          .bytes = plan->size};
    CHECK(tutti_job_alike(jobs, JOBS, &repeat) == JOBS && repeat.n == JOBS, "eight equal boxes are not one");
    CHECK(repeat.memory == 17575760 && repeat.packed == (int64_t)plan->size,
          "eight equal boxes are not where they are");
    jobs[5].packed = (void *)(uintptr_t)(9 * ADDRESS);
    CHECK(tutti_job_alike(jobs, JOBS, &repeat) == 5, "the sixth box is elsewhere");
    jobs[2].bytes--;
    CHECK(tutti_job_alike(jobs, JOBS, &repeat) == 2, "the third box is another one");
    jobs[1].memory = (void *)(uintptr_t)(ADDRESS + 17575761);
    CHECK(tutti_job_alike(jobs, JOBS, &repeat) == 1, "the second box would make words smaller");
    tutti_plan_drop(plan);
}

int main(void)
{
    char why[256] = "";
    if (!tutti_device() || tutti_device()->open(why, sizeof why) != TUTTI_OK) {
        printf("skipped: %s\n", why);
        return CHECK_SKIP;
    }
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_layout(i);
    check_mixed();
    check_alike();
    any_free(&room);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0;
}
