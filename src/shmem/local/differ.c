/* Texts about the contributions of a team's members to a collective: names of calls, and the difference between two
 * contributions. */
#include <stdio.h>
#include <string.h>

#include "shmem/local/contribution.h"
#include "tutti/shmem.h"

static const char *const operations[TSHMEM_OPS] = {
    [TSHMEM_OP_AND] = "and", [TSHMEM_OP_OR] = "or",   [TSHMEM_OP_XOR] = "xor",  [TSHMEM_OP_MAX] = "max",
    [TSHMEM_OP_MIN] = "min", [TSHMEM_OP_SUM] = "sum", [TSHMEM_OP_PROD] = "prod"};
static const char *const types[TSHMEM_TYPES] = {[TSHMEM_INT8] = "int8",
                                                [TSHMEM_UINT8] = "uint8",
                                                [TSHMEM_INT16] = "int16",
                                                [TSHMEM_UINT16] = "uint16",
                                                [TSHMEM_INT32] = "int32",
                                                [TSHMEM_UINT32] = "uint32",
                                                [TSHMEM_INT64] = "int64",
                                                [TSHMEM_UINT64] = "uint64",
                                                [TSHMEM_ID_HALF] = "half",
                                                [TSHMEM_ID_BFLOAT16] = "bfloat16",
                                                [TSHMEM_ID_FLOAT] = "float",
                                                [TSHMEM_ID_DOUBLE] = "double",
                                                [TSHMEM_ID_COMPLEXF] = "complexf",
                                                [TSHMEM_ID_COMPLEXD] = "complexd",
                                                [TSHMEM_ID_LONGDOUBLE] = "longdouble"};

/* How a word, or a part of one, is shown. */
enum shown {
    NOTHING,
    COUNT,    /* of bytes or elements */
    NUMBER,   /* with a sign, the low half */
    NUMBER_2, /* the same, the upper half */
    OBJECT,   /* an offset in the heap */
    TYPE      /* enum tshmem_type, the upper half */
};

static const struct row {
    const char *name; /* %s: the operation, the low half of the fourth word */
    struct field {
        enum shown how;
        int word;
        const char *what;
    } field[4];
} rows[TUTTI_SHMEM_CALL_COUNT] = {
#define ROW(id, name) [TUTTI_SHMEM_##id] = {name, FIELDS_##id},
/* clang-format off */
#define FIELDS_SYNC              {{NOTHING, 0, ""}}
#define FIELDS_BARRIER           {{NOTHING, 0, ""}}
#define FIELDS_FINALIZE          {{NOTHING, 0, ""}}
#define FIELDS_MALLOC            {{COUNT, 0, "bytes"}}
#define FIELDS_MALLOC_WITH_HINTS {{COUNT, 0, "bytes"}}
#define FIELDS_CALLOC            {{COUNT, 0, "bytes"}}
#define FIELDS_ALIGN             {{COUNT, 0, "bytes"}, {COUNT, 1, "alignment"}}
#define FIELDS_REALLOC           {{COUNT, 0, "bytes"}, {OBJECT, 1, "the object"}}
#define FIELDS_FREE              {{OBJECT, 0, "the object"}}
#define FIELDS_SPLIT             {{NUMBER, 0, "start"}, {NUMBER, 1, "stride"}, {NUMBER, 2, "size"}}
#define FIELDS_SPLIT_2D          {{NUMBER, 0, "xrange"}}
#define FIELDS_DESTROY           {{NOTHING, 0, ""}}
#define FIELDS_BROADCAST         {{COUNT, 2, "bytes"}, {NUMBER, 3, "root"}, {OBJECT, 0, "dest"}, {OBJECT, 1, "source"}}
#define FIELDS_COLLECT           {{COUNT, 1, "bytes of an element"}}
#define FIELDS_FCOLLECT          {{COUNT, 2, "bytes"}, {OBJECT, 0, "dest"}, {OBJECT, 1, "source"}}
#define FIELDS_ALLTOALL          {{COUNT, 2, "bytes"}, {OBJECT, 0, "dest"}, {OBJECT, 1, "source"}}
#define FIELDS_ALLTOALLS         {{COUNT, 2, "bytes"}, {NUMBER_2, 3, "dst"}, {NUMBER, 3, "sst"}, {OBJECT, 0, "dest"}}
#define FIELDS_REDUCE            {{COUNT, 2, "count"}, {TYPE, 3, "type"}, {OBJECT, 0, "dest"}, {OBJECT, 1, "source"}}
#define FIELDS_REDUCESCATTER     FIELDS_REDUCE
#define FIELDS_INSCAN            FIELDS_REDUCE
#define FIELDS_EXSCAN            FIELDS_REDUCE
    /* clang-format on */
    TUTTI_SHMEM_CALLS(ROW)
#undef ROW
};

static unsigned differ_operation_of(const uint64_t *word)
{
    return (uint32_t)word[3];
}

const char *tutti_shmem_contribution_name(unsigned kind, const uint64_t word[TUTTI_SHMEM_WORDS])
{
    static const char *const waits[2][3] = {{"tshmem_sync", "tshmem_sync_all", "tshmem_team_sync"},
                                            {"tshmem_barrier", "tshmem_barrier_all", "tshmem_barrier"}};
    static __thread char text[40];
    if (kind == TUTTI_SHMEM_WRONG || kind >= TUTTI_SHMEM_CALL_COUNT)
        return kind == TUTTI_SHMEM_WRONG ? "a call with arguments that it refused" : "no call";
    if (kind == TUTTI_SHMEM_SYNC || kind == TUTTI_SHMEM_BARRIER)
        return waits[kind == TUTTI_SHMEM_BARRIER][word[TUTTI_SHMEM_ELEMENT] % 3];
    if (kind != TUTTI_SHMEM_REDUCE && kind != TUTTI_SHMEM_REDUCESCATTER)
        return rows[kind].name;
    const unsigned operation = differ_operation_of(word);
    snprintf(text, sizeof text, kind == TUTTI_SHMEM_REDUCE ? "tshmem_%s_reduce" : "tshmem_%s_reducescatter",
             operation < TSHMEM_OPS ? operations[operation] : "?");
    return text;
}

static void word_show(enum shown how, uint64_t word, uint64_t first, char *text, size_t size)
{
    const uint32_t upper = (uint32_t)(word >> 32);
    switch (how) {
    case COUNT:
        snprintf(text, size, "%llu", (unsigned long long)word);
        break;
    case NUMBER:
        snprintf(text, size, "%d", (int)(int32_t)(uint32_t)word);
        break;
    case NUMBER_2:
        snprintf(text, size, "%d", (int)(int32_t)upper);
        break;
    case OBJECT:
        snprintf(text, size, "at byte %llu of the heap", (unsigned long long)(word - first));
        break;
    default:
        snprintf(text, size, "%s", upper < TSHMEM_TYPES ? types[upper] : "?");
    }
}

/* The first field that differs. Counts are reported in elements if both have elements of one size. */
static void differ_in(const struct row *row, const struct tutti_shmem_contribution *mine,
                      const struct tutti_shmem_contribution *theirs, int pe, uint64_t first, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof row->field / sizeof *row->field; i++) {
        const struct field *field = &row->field[i];
        char here[48], there[48];
        if (field->how == NOTHING)
            continue;
        word_show(field->how, mine->word[field->word], first, here, sizeof here);
        word_show(field->how, theirs->word[field->word], first, there, sizeof there);
        if (mine->word[field->word] == theirs->word[field->word] || strcmp(here, there) == 0)
            continue;
        const uint64_t element = mine->word[TUTTI_SHMEM_ELEMENT];
        if (field->how == COUNT && field->word == 2 && element > 0 && element == theirs->word[TUTTI_SHMEM_ELEMENT])
            snprintf(text, size, "count %llu here, %llu on PE %d", (unsigned long long)(mine->word[2] / element),
                     (unsigned long long)(theirs->word[2] / element), pe);
        else
            snprintf(text, size, "%s %s here, %s on PE %d", field->what, here, there, pe);
        return;
    }
    snprintf(text, size, "other arguments here than on PE %d", pe);
}

void tutti_shmem_differ(const struct tutti_shmem_contribution *mine, const struct tutti_shmem_contribution *theirs,
                        int pe, uint64_t first, char *text, size_t size)
{
    const unsigned kind = (unsigned)mine->call, other = (unsigned)theirs->call;
    char name[40];
    snprintf(name, sizeof name, "%s", tutti_shmem_contribution_name(kind, mine->word));
    const char *const its = tutti_shmem_contribution_name(other, theirs->word);
    if (other == TUTTI_SHMEM_WRONG)
        snprintf(text, size, "PE %d has refused its arguments, as it says itself", pe);
    else if (kind != other || strcmp(name, its) != 0)
        snprintf(text, size, "%s here, %s on PE %d", name, its, pe);
    else
        differ_in(&rows[kind], mine, theirs, pe, first, text, size);
}
