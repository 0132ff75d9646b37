/* Programs of MPI-IO: what is drawn, and the model of the file. */
#include <stdlib.h>
#include <string.h>

#include "contents.h"

const char *const file_call_names[] = {
#define X(name) "MPI_File_" #name,
    FILE_CALLS(X)
#undef X
};

int file_has(enum file_call call, const char *word)
{
    return strstr(file_call_names[call], word) != NULL;
}

int file_reads(enum file_call call)
{
    return file_has(call, "read");
}

static int dice(struct file_model *m, int n)
{
    return (int)(random_next(&m->state) % (uint64_t)n);
}

static int rarely(struct file_model *m, int n)
{
    return dice(m, n) == 0;
}

void file_draw(struct file_model *m, uint64_t seed, uint64_t number, int ranks, int me, unsigned without)
{
    *m = (struct file_model){.seed = seed, .number = number, .ranks = ranks, .me = me};
    m->state = random_mix(seed * 1000003 + number * 19 + 7);
    m->big = rarely(m, 9) && !(without >> FILE_LONG & 1); /* accesses in pieces */
    m->room = m->big ? 24 << 20 : 40000;
    m->arena_bytes = m->big ? 20 << 20 : 64 << 10;
    m->most = m->big ? 6000000 : 1500;
    m->atomic = rarely(m, 4) && !(without >> FILE_ATOMIC & 1);
    m->shifted = !(without >> FILE_SHIFTED & 1);
    m->spread = !(without >> FILE_SPREAD & 1);
    m->size = m->room;
    m->bytes = malloc(m->room);
    m->writer = malloc(m->room);
    m->reader = malloc(m->room);
    m->open = malloc(m->room);
    if (!m->bytes || !m->writer || !m->reader || !m->open)
        abort();
    random_bytes(m->bytes, random_mix(seed + number), m->room);
    for (int r = 0; r < ranks; r++) {
        for (int k = 0; k < EVERY_KINDS; k++) {
            if (r == me)
                m->first[k] = malloc(m->arena_bytes);
            if (!(m->arena[r][k] = malloc(m->arena_bytes)))
                abort();
        }
    }
    file_views(m, without);
}

void file_close(struct file_model *m)
{
    free(m->bytes);
    free(m->writer);
    free(m->reader);
    free(m->open);
    for (int k = 0; k < EVERY_KINDS; k++) {
        free(m->first[k]);
        for (int r = 0; r < m->ranks; r++)
            free(m->arena[r][k]);
    }
}

/* ---- views ---- */

static void view_draw(struct file_model *m, struct file_view *v, enum model_element element, int unit, int gaps)
{
    int at = gaps ? dice(m, 3) : 0;
    *v = (struct file_view){.disp = dice(m, 100), .element = element, .unit = unit};
    v->runs = 1 + dice(m, gaps ? FILE_RUNS : 1);
    for (int r = 0; r < v->runs; r++) {
        v->len[r] = m->big ? 3000 + dice(m, 30000) : 1 + dice(m, 6);
        v->at[r] = at;
        at += v->len[r] + (gaps ? dice(m, 4) : 0);
        v->k += v->len[r];
    }
    v->extent = v->at[v->runs - 1] + v->len[v->runs - 1] + (gaps ? dice(m, 6) : 0);
}

void file_views(struct file_model *m, unsigned without)
{
    static const enum model_element elements[] = {MODEL_BYTE, MODEL_I16, MODEL_I32, MODEL_F64, MODEL_U64};
    const enum model_element element = elements[dice(m, sizeof elements / sizeof *elements)];
    const int unit = rarely(m, 2) ? 1 : 1 + dice(m, 3), gaps = !(without >> FILE_GAPS & 1) && !rarely(m, 3),
              way = dice(m, 4);
    m->same = way == 0;
    m->shared = 0;
    for (int r = 0; r < m->ranks; r++) {
        m->pointer[r] = 0;
        if (r == 0 || way == 1)
            view_draw(m, &m->view[r], element, unit, gaps);
        else
            m->view[r] = m->view[0];
        if (way == 2) /* blocks of the ranks between each other */
            m->view[r].disp += r * (long)m->view[0].extent * unit * (long)model_sizes[element];
        if (way == 3)
            m->view[r].disp += r * (long)(m->room / (size_t)m->ranks);
    }
    const int extent = m->view[0].extent * m->ranks;
    for (int r = 0; r < m->ranks && way == 2; r++)
        m->view[r].extent = extent;
}

/* The byte of the file at which element i behind `offset` lies. */
static size_t place_of(const struct file_view *v, long offset, int i)
{
    const long element = offset * v->unit + i, etype = element / v->unit, size = (long)model_sizes[v->element];
    long left = etype % v->k;
    int r = 0;
    while (left >= v->len[r])
        left -= v->len[r++];
    return (size_t)(v->disp + ((etype / v->k * v->extent + v->at[r] + left) * v->unit + element % v->unit) * size);
}

/* ---- accesses ---- */

static int access_is_valid(struct file_model *m, const struct file_access *a, int open)
{
    const struct file_view *v = &m->view[a->rank];
    const size_t size = model_sizes[v->element];
    const int n = a->layout.n, reads = file_reads(a->call);
    if (n > 0 && place_of(v, a->offset, n - 1) + size > m->room)
        return 0;
    for (int i = 0; i < n; i++) {
        const size_t at = place_of(v, a->offset, i);
        for (size_t b = at; b < at + size; b++) {
            const int writer = m->writer[b], reader = m->reader[b];
            if ((writer != FILE_NONE && writer != a->rank) || (!reads && reader != FILE_NONE && reader != a->rank))
                return 0;
            if (m->open[b] ||
                (open && (writer != FILE_NONE || reader != FILE_NONE))) /* order matters only for blocking ones */
                return 0;
        }
    }
    return 1;
}

static void access_apply(struct file_model *m, const struct file_access *a, int open)
{
    const struct file_view *v = &m->view[a->rank];
    const size_t size = model_sizes[v->element];
    for (int i = 0; i < a->layout.n; i++) {
        const size_t at = place_of(v, a->offset, i);
        char *memory = m->arena[a->rank][a->kind] + a->at + model_layout_at(&a->layout, i);
        if (file_reads(a->call))
            memcpy(memory, m->bytes + at, size);
        else
            memcpy(m->bytes + at, memory, size);
        for (size_t b = at; b < at + size; b++) {
            signed char *by = file_reads(a->call) ? &m->reader[b] : &m->writer[b];
            *by = (signed char)(*by == FILE_NONE || *by == a->rank ? a->rank : FILE_RANKS);
            m->open[b] |= (unsigned char)open;
        }
    }
}

static int memory_draw(struct file_model *m, struct file_access *a, int n)
{
    const struct file_view *v = &m->view[a->rank];
    const size_t size = model_sizes[v->element];
    a->kind = m->big && !rarely(m, 3) ? EVERY_DEVICE : (enum every_kind)dice(m, EVERY_KINDS);
    const int host = a->kind != EVERY_DEVICE || kit_plain; /* the MPI itself handles the type there */
    do
        model_layout_draw(&a->layout, &m->state, v->element, n, rarely(m, 2) || (host && !m->spread), 1);
    while (host && !m->shifted && a->layout.low != 0);
    a->begin = m->used[a->rank][a->kind] + (size_t)dice(m, 9);
    a->at = (a->begin + (size_t)(a->layout.low < 0 ? -a->layout.low : 0) + size - 1) / size * size;
    a->end = a->at + (size_t)(a->layout.high > 0 ? a->layout.high : 0);
    return a->end + 16 <= m->arena_bytes;
}

static int count_draw(struct file_model *m, const struct file_view *v)
{
    const int most = (int)(m->most / model_sizes[v->element] / (size_t)v->unit);
    if (m->big && !rarely(m, 3))
        return v->unit * (most / 5 + dice(m, most * 4 / 5));
    return rarely(m, 20) ? 0 : v->unit * (1 + dice(m, rarely(m, 2) ? most : most < 20 ? most : 20));
}

/* Draws the memory and the place of one rank's part. fixed: the offset is given. 0: none was valid. */
static int access_draw(struct file_model *m, struct file_access *a, int fixed, int open)
{
    const struct file_view *v = &m->view[a->rank];
    const long elements = (long)(m->room / model_sizes[v->element]) / v->unit * v->k / v->extent;
    for (int tries = 0; tries < 10; tries++) {
        if (!memory_draw(m, a, tries == 9 ? 0 : count_draw(m, v)))
            continue;
        if (!fixed)
            a->offset = dice(m, (int)elements + 1);
        if (access_is_valid(m, a, open)) {
            m->used[a->rank][a->kind] = a->end;
            access_apply(m, a, open);
            return 1;
        }
    }
    return 0;
}

static struct file_access *access_new(struct file_model *m, enum file_call call, int rank)
{
    struct file_access *a = &m->access[m->accesses];
    *a = (struct file_access){.call = call, .rank = rank};
    return a;
}

static int may_call(enum file_call call, unsigned without)
{
    return !((without >> FILE_NONBLOCKING & 1) && file_has(call, "_i")) &&
           !((without >> FILE_ORDERED & 1) && file_has(call, "ordered")) &&
           !((without >> FILE_SHARED & 1) && file_has(call, "shared")) &&
           !((without >> FILE_SPLIT & 1) && file_has(call, "begin"));
}

/* One rank's access by its own pointer or at an offset. */
static void act_alone(struct file_model *m, unsigned without)
{
    /* Of large ones most may be cut. */
    const enum file_call call = (enum file_call)dice(m, m->big && !rarely(m, 3) ? FILE_iread : FILE_read_shared);
    const int rank = dice(m, m->ranks), open = file_has(call, "_i");
    struct file_access *a = access_new(m, call, rank);
    const int at = file_has(call, "_at");
    if (!may_call(call, without))
        return;
    a->seeks = !at && !rarely(m, 3);
    a->offset = m->pointer[rank];
    if (!access_draw(m, a, !at && !a->seeks, open))
        return;
    if (!at)
        m->pointer[rank] = a->offset + a->layout.n / m->view[rank].unit;
    a->waits = m->accesses + 1 + dice(m, 8);
    m->accesses++;
}

/* The shared pointer, by one rank. */
static void act_shared(struct file_model *m, int rank, unsigned without)
{
    const enum file_call call = (enum file_call)(FILE_read_shared + dice(m, 4));
    struct file_access *a = access_new(m, call, rank);
    if (!may_call(call, without))
        return;
    a->offset = m->shared;
    if (!access_draw(m, a, 1, file_has(call, "_i")))
        return;
    m->shared += a->layout.n / m->view[rank].unit;
    a->waits = m->accesses + 1; /* the next access by this pointer must not overtake it */
    m->accesses++;
}

/* A collective call of all ranks. 0: it is not valid here, and nothing has been drawn. */
static int act_together(struct file_model *m, unsigned without)
{
    const enum file_call call = (enum file_call)(FILE_read_all + dice(m, FILE_CALLS_ALL - FILE_read_all));
    /* A rank may leave a collective write before another one has written its bytes: they are open until the step's end.
     */
    const int ordered = file_has(call, "ordered"), at = file_has(call, "_at"), alike = dice(m, 8),
              open = file_has(call, "_i");
    if (!may_call(call, without) || (ordered && !m->same))
        return 0;
    for (int r = 0; r < m->ranks; r++) {
        struct file_access *a = access_new(m, call, r);
        const long before = ordered ? m->shared : m->pointer[r];
        a->offset = before;
        a->seeks = !ordered && !at && alike > 2;
        if (!access_draw(m, a, !at && !a->seeks, open || !file_reads(call))) { /* at least nothing is valid */
            a->seeks = 0;
            a->offset = at ? 0 : before;
            if (!memory_draw(m, a, 0))
                abort();
        }
        const long after = a->offset + a->layout.n / m->view[r].unit;
        if (ordered)
            m->shared = after;
        else if (!at)
            m->pointer[r] = after;
        a->waits = m->accesses + 1;
        m->accesses++;
    }
    return 1;
}

void file_step(struct file_model *m, unsigned without)
{
    const int kind = dice(m, m->same ? 3 : 2), rank = dice(m, m->ranks);
    m->accesses = 0;
    m->step++;
    memset(m->writer, FILE_NONE, m->room);
    memset(m->reader, FILE_NONE, m->room);
    memset(m->open, 0, m->room);
    for (int r = 0; r < m->ranks; r++) {
        for (int k = 0; k < EVERY_KINDS; k++) {
            random_bytes(m->arena[r][k],
                         random_mix(m->seed + m->number * 77 + (uint64_t)m->step) + (uint64_t)(r * 8 + k) * 100000007,
                         m->arena_bytes);
            m->used[r][k] = 0;
            if (r == m->me)
                memcpy(m->first[k], m->arena[r][k], m->arena_bytes);
        }
    }
    for (int n = m->big ? 1 + dice(m, 3) : 1 + dice(m, kind == 0 ? 24 : 4);
         n > 0 && m->accesses + m->ranks < FILE_ACCESSES; n--) {
        if (kind == 0)
            act_alone(m, without);
        else if (kind == 1)
            act_together(m, without);
        else
            act_shared(m, rank, without);
    }
}
