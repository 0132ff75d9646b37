/* Attached buffers in device memory, of the process, and where the MPI has them of a communicator and of a session, in
 * both widths of counts: buffered sends of host and of device memory arrive, also behind a flush, and the call that
 * detaches a buffer gives the program's own address and size back. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { COUNT = 5000, MESSAGES = 3, TAG = 9 };

/* ---- the calls of a holder of a buffer: MPI 4.1, so not every MPI and no header has them ---- */

#if MPI_VERSION >= 4
typedef MPI_Session session;
#else
typedef int session;
#endif
enum holder { OF_PROCESS, OF_COMM, OF_SESSION, HOLDERS };
static const char *const attach_names[HOLDERS] = {"MPI_Buffer_attach", "MPI_Comm_attach_buffer",
                                                  "MPI_Session_attach_buffer"};
static const char *const detach_names[HOLDERS] = {"MPI_Buffer_detach", "MPI_Comm_detach_buffer",
                                                  "MPI_Session_detach_buffer"};
static const char *const flush_names[HOLDERS] = {"MPI_Buffer_flush", "MPI_Comm_flush_buffer",
                                                 "MPI_Session_flush_buffer"};
static MPI_Comm comm_of[HOLDERS]; /* over which its messages go */
static session the_session;

/* NULL: this MPI lacks it. */
static void *attached_find(const char *name, int large)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, large ? "_c" : "");
    return dlsym(RTLD_DEFAULT, text);
}

#define ATTACH(count, of, ...)                                                                                         \
    do {                                                                                                               \
        int (*call)(__VA_ARGS__ void *, count);                                                                        \
        *(void **)(void *)&call = attached_find(attach_names[holder], sizeof(count) > sizeof(int));                    \
        return call(of(void *) buffer, (count)size);                                                                   \
    } while (0)
#define DETACH(count, of, ...)                                                                                         \
    do {                                                                                                               \
        int (*call)(__VA_ARGS__ void *, count *);                                                                      \
        count n = -1;                                                                                                  \
        *(void **)(void *)&call = attached_find(detach_names[holder], sizeof(count) > sizeof(int));                    \
        const int code = call(of(void *) buffer, &n);                                                                  \
        *size = n;                                                                                                     \
        return code;                                                                                                   \
    } while (0)
#define COMMA ,
#define EACH(DO)                                                                                                       \
    switch ((int)holder * 2 + large) {                                                                                 \
    case 2 * OF_PROCESS:                                                                                               \
        DO(int, , );                                                                                                   \
    case 2 * OF_PROCESS + 1:                                                                                           \
        DO(MPI_Count, , );                                                                                             \
    case 2 * OF_COMM:                                                                                                  \
        DO(int, comm_of[OF_COMM] COMMA, MPI_Comm, );                                                                   \
    case 2 * OF_COMM + 1:                                                                                              \
        DO(MPI_Count, comm_of[OF_COMM] COMMA, MPI_Comm, );                                                             \
    case 2 * OF_SESSION:                                                                                               \
        DO(int, the_session COMMA, session, );                                                                         \
    default:                                                                                                           \
        DO(MPI_Count, the_session COMMA, session, );                                                                   \
    }

static int buffer_attach(enum holder holder, int large, void *buffer, int size)
{
    EACH(ATTACH)
}

static int buffer_detach(enum holder holder, int large, void **buffer, MPI_Count *size)
{
    EACH(DETACH)
}

/* 1 if the MPI has the calls of MPI 4.1; those that it lacks fail, and say so. */
static int has_newer(void)
{
    int version = 0, minor = 0;
    MPI_Get_version(&version, &minor);
    return version > 4 || (version == 4 && minor >= 1);
}

static int buffer_flush(enum holder holder)
{
    void *found = attached_find(flush_names[holder], 0);
    int (*of_process)(void), (*of_comm)(MPI_Comm), (*of_session)(session);
    *(void **)(void *)&of_process = found;
    *(void **)(void *)&of_comm = found;
    *(void **)(void *)&of_session = found;
    if (!found || !has_newer())
        return MPI_SUCCESS;
    return holder == OF_PROCESS ? of_process()
           : holder == OF_COMM  ? of_comm(comm_of[OF_COMM])
                                : of_session(the_session);
}

static int holder_is_there(enum holder holder, int large)
{
    return comm_of[holder] != MPI_COMM_NULL && (holder == OF_PROCESS || has_newer()) &&
           attached_find(attach_names[holder], large) && attached_find(detach_names[holder], large);
}

static void round_of(enum holder holder, int large, enum kit_kind buffer_kind, enum kit_kind kind)
{
    const MPI_Comm comm = comm_of[holder];
    static int sent[COUNT], got[COUNT];
    struct kit_buffer buffer, out, in;
    int size = MESSAGES * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD), guards;
    int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    void *back = NULL;
    MPI_Count back_size = -1;
    kit_open(&buffer, buffer_kind, (size_t)size);
    kit_open(&out, kind, sizeof sent);
    kit_open(&in, kind, sizeof got);
    void *given = kit_put(&buffer, 0, NULL, (size_t)size);
    int code = buffer_attach(holder, large, given, size);
    CHECK(code == MPI_SUCCESS, "%s, large %d: error class %d", attach_names[holder], large, kit_class(code));
    for (int m = 0; m < MESSAGES; m++) {
        for (int i = 0; i < COUNT; i++)
            sent[i] = kit_rank * 100000 + m * 10000 + i;
        code = MPI_Bsend(kit_put(&out, 0, sent, sizeof sent), COUNT, MPI_INT, to, TAG, comm);
        CHECK(code == MPI_SUCCESS, "MPI_Bsend: error class %d", kit_class(code));
    }
    for (int m = 0; m < MESSAGES; m++) {
        MPI_Recv(kit_put(&in, 0, NULL, sizeof got), COUNT, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE);
        memcpy(got, kit_get(&in, NULL), sizeof got);
        int i = 0;
        while (i < COUNT && got[i] == from * 100000 + m * 10000 + i)
            i++;
        CHECK(i == COUNT, "message %d: integer %d is %d", m, i, i < COUNT ? got[i] : 0);
    }
    code = buffer_flush(holder);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", flush_names[holder], kit_class(code));
    code = buffer_detach(holder, large, &back, &back_size);
    CHECK(code == MPI_SUCCESS && back == given && back_size == size,
          "%s, large %d: error class %d, %p of %lld bytes, not %p of %d", detach_names[holder], large, kit_class(code),
          back, (long long)back_size, given, size);
    kit_get(&buffer, &guards);
    CHECK(guards, "beside the attached buffer something was written");
    kit_close(&buffer);
    kit_close(&out);
    kit_close(&in);
}

static void session_open(void)
{
#if MPI_VERSION >= 4
    MPI_Group group;
    if (!has_newer() || MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &the_session) != MPI_SUCCESS)
        return;
    MPI_Group_from_session_pset(the_session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "attached", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm_of[OF_SESSION]);
    MPI_Group_free(&group);
#endif
}

static void session_close(void)
{
#if MPI_VERSION >= 4
    if (comm_of[OF_SESSION] == MPI_COMM_NULL)
        return;
    MPI_Comm_free(&comm_of[OF_SESSION]);
    MPI_Session_finalize(&the_session);
#endif
}

int main(int argc, char **argv)
{
    int rounds = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    comm_of[OF_PROCESS] = MPI_COMM_WORLD;
    comm_of[OF_SESSION] = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_of[OF_COMM]);
    session_open();
    for (int i = 0; i < HOLDERS * 2; i++) {
        const enum holder holder = (enum holder)(i / 2);
        const int large = i % 2;
        if (!holder_is_there(holder, large))
            continue;
        for (int round = 0; round < 3; round++) {
            round_of(holder, large, KIT_DEVICE, KIT_HOST);
            round_of(holder, large, KIT_DEVICE, KIT_DEVICE);
            round_of(holder, large, KIT_HOST, KIT_DEVICE);
        }
        rounds++;
    }
    if (kit_rank == 0)
        printf("attached: %d of %d pairs of calls\n", rounds, HOLDERS * 2);
    session_close();
    MPI_Comm_free(&comm_of[OF_COMM]);
    return kit_end("attached");
}
