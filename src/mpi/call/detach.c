/* MPI_Buffer_detach waits inside the MPI until the buffered messages have left, and their receivers may need a step of
 * this rank first. While a step is open: an MPI with a progress hook polls the steps in its wait (hook.h). With several
 * threads the helper does. Otherwise the engine waits first, either for a request of the MPI's that completes when the
 * messages have left (MPI 4.1), or until the buffer takes a message that needs all of its room. */
#include <limits.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/call/calls.h"
#include "mpi/real/attached.h"
#include "mpi/real/hook.h"
#include "mpi/real/rows.h"
#include "mpi/real/self.h"
#include "progress/engine.h"

static int needs_no_help(void)
{
    return !tutti_progress_busy() || tutti_progress_polling() || tutti_hook_is_there() || tutti_door.multiple;
}

struct flush {
    MPI_Request request;
};

static int detach_is_complete(void *with)
{
    struct flush *flush = with;
    int flag = 0;
    return tutti_next.MPI_Test(&flush->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag;
}

/* Waits by the engine for the request of a flush, if the MPI has begun one. */
static void await_flush(int code, struct flush *flush)
{
    if (code == MPI_SUCCESS)
        tutti_progress_wait(&(const struct tutti_wait){.done = detach_is_complete, .with = flush});
}

/* ---- a message that needs the whole buffer ---- */

struct room {
    char *from, *to;
    int bytes, taken;
};

static int is_free(void *with)
{
    struct room *room = with;
    room->taken = tutti_self_room_takes(room->from, room->bytes);
    return room->taken || !tutti_progress_busy();
}

/* The process's own buffer. It is empty if a message of its whole size less `SLACK` fits: the smallest message takes
 * more than `SLACK`, which also covers the alignment of the MPI. */
static void await_room(void)
{
    enum { SLACK = 32 };
    const int64_t all = tutti_attached_room() - MPI_BSEND_OVERHEAD - SLACK;
    MPI_Request receive;
    if (all > INT_MAX || tutti_attached_room() <= 0)
        return;
    struct room room = {.bytes = all < 0 ? 0 : (int)all};
    room.from = calloc(1, (size_t)room.bytes + 1);
    room.to = malloc((size_t)room.bytes + 1);
    if (room.from && room.to && tutti_self_room_open(room.to, room.bytes, &receive) == 0) {
        tutti_progress_wait(&(const struct tutti_wait){.done = is_free, .with = &room});
        tutti_self_room_close(room.taken, &receive);
    }
    free(room.from);
    free(room.to);
}

/* ---- the calls ---- */

static void before_process(void)
{
    struct flush flush;
    if (needs_no_help())
        return;
    if (tutti_next.MPI_Buffer_iflush)
        await_flush(tutti_next.MPI_Buffer_iflush(&flush.request), &flush);
    else
        await_room();
}

static void before_comm(MPI_Comm comm)
{
    struct flush flush;
    if (!needs_no_help() && tutti_next.MPI_Comm_iflush_buffer)
        await_flush(tutti_next.MPI_Comm_iflush_buffer(comm, &flush.request), &flush);
}

static void before_session(MPI_Session session)
{
    struct flush flush;
    if (!needs_no_help() && tutti_next.MPI_Session_iflush_buffer)
        await_flush(tutti_next.MPI_Session_iflush_buffer(session, &flush.request), &flush);
}

#define BEFORE_MPI_Buffer_detach           before_process()
#define BEFORE_MPI_Buffer_detach_c         before_process()
#define BEFORE_MPI_Comm_detach_buffer      before_comm(comm)
#define BEFORE_MPI_Comm_detach_buffer_c    before_comm(comm)
#define BEFORE_MPI_Session_detach_buffer   before_session(session)
#define BEFORE_MPI_Session_detach_buffer_c before_session(session)

#define HOW_DETACHES DETACHES, 0
#define MADE(how, form, name, parameters, arguments)                                                                   \
    static int(*just_##name) parameters;                                                                               \
    static int progressing_##name parameters                                                                           \
    {                                                                                                                  \
        BEFORE_##name;                                                                                                 \
        TUTTI_HOOKED(tutti_progress_busy() && !tutti_progress_polling());                                              \
        return just_##name arguments;                                                                                  \
    }
#define PASS tutti_calls_detach
#include "mpi/call/progressing_pass.inc"
