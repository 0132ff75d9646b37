/* Sessions. MPI_Session_init is local, so that the door cannot open there: opening takes all ranks that it is for. It
 * opens with the first communicator that is made of a group, over the ranks of that group: its *base*. Where a later
 * group holds all ranks of the base and others, and nothing is under way, the door is shut and opens again over that
 * group. All ranks of a group agree on it; a base has the same ranks on all of its ranks. Communicators with ranks
 * outside the base are staged, as those with ranks of another MPI_COMM_WORLD are.
 *
 * The base is a communicator of a session of Tutti's own, which outlives the program's. Until it is shut tutti_handles
 * has it in place of MPI_COMM_WORLD, and one of this process alone in place of MPI_COMM_SELF. A door that MPI_Init has
 * opened has MPI_COMM_WORLD as its base. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/comm/comms.h"
#include "mpi/front/asked.h"
#include "mpi/front/front.h"
#include "mpi/front/job.h"
#include "mpi/message/short_recv.h"
#include "mpi/message/start.h"
#include "mpi/message/unexpected.h"
#include "mpi/real/handles.h"
#include "mpi/real/hook.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"
#include "progress/engine.h"

enum base { BASE_NONE, BASE_WORLD, BASE_SESSION };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum base base;
static int mixed;    /* 1: some ranks of MPI_COMM_WORLD have no Tutti in front: the door stays shut */
static int sessions; /* of the program */
static int world_up; /* between MPI_Init and MPI_Finalize */
static int threads;  /* some session has asked for MPI_THREAD_MULTIPLE */
static int said;
static MPI_Session own;
static int own_is_open;
static MPI_Comm program_world, program_self;

/* ---- the base ---- */

static int is_multiple(void)
{
    int level = MPI_THREAD_SINGLE;
    tutti_next.MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE || threads;
}

static void say_once(const char *why)
{
    if (!said)
        tutti_warn("sessions: calls are passed on to the MPI until another communicator is made of a group: %s", why);
    said = 1;
}

/* The ranks of `comm` as a group of Tutti's own session. */
static int own_group(MPI_Comm comm, MPI_Group *out)
{
    MPI_Group all, group;
    int n = 0, code = MPI_ERR_OTHER;
    if (tutti_next.MPI_Group_from_session_pset(own, "mpi://WORLD", &all) != MPI_SUCCESS)
        return code;
    if (tutti_next.MPI_Comm_group(comm, &group) == MPI_SUCCESS) {
        tutti_next.MPI_Group_size(group, &n);
        int *here = malloc((size_t)(n + 1) * 2 * sizeof *here), *there = here + n + 1;
        for (int i = 0; here && i < n; i++)
            here[i] = i;
        if (here && tutti_next.MPI_Group_translate_ranks(group, n, here, all, there) == MPI_SUCCESS)
            code = tutti_next.MPI_Group_incl(all, n, there, out);
        free(here);
        tutti_next.MPI_Group_free(&group);
    }
    tutti_next.MPI_Group_free(&all);
    return code;
}

static int session_open_own(void)
{
    if (!own_is_open && tutti_next.MPI_Session_init && tutti_next.MPI_Comm_create_from_group &&
        tutti_next.MPI_Group_from_session_pset)
        own_is_open =
            tutti_next.MPI_Session_init(tutti_handles.no_info, tutti_handles.errors_return, &own) == MPI_SUCCESS;
    return own_is_open;
}

static void session_close_own(void)
{
    if (own_is_open)
        tutti_next.MPI_Session_finalize(&own);
    own_is_open = 0;
}

/* Collective over `comm`: a base of the same ranks. Errors are raised there as on `comm`. */
static int make_base(MPI_Comm comm, MPI_Comm *world, MPI_Comm *self)
{
    MPI_Group group;
    MPI_Errhandler handler;
    int rank = 0;
    if (own_group(comm, &group) != MPI_SUCCESS)
        return -1;
    int code = tutti_next.MPI_Comm_create_from_group(group, "tutti.base", tutti_handles.no_info,
                                                     tutti_handles.errors_return, world);
    tutti_next.MPI_Group_free(&group);
    if (code != MPI_SUCCESS)
        return -1;
    tutti_next.MPI_Comm_rank(*world, &rank);
    if (tutti_next.MPI_Comm_split(*world, rank, 0, self) != MPI_SUCCESS) {
        tutti_next.MPI_Comm_free(world);
        return -1;
    }
    if (tutti_next.MPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
        tutti_next.MPI_Comm_set_errhandler(*world, handler);
        tutti_next.MPI_Comm_set_errhandler(*self, handler);
        tutti_next.MPI_Errhandler_free(&handler);
    }
    return 0;
}

static void free_base(void)
{
    if (base == BASE_SESSION) {
        tutti_next.MPI_Comm_free(&tutti_handles.world);
        tutti_next.MPI_Comm_free(&tutti_handles.self);
        tutti_handles.world = program_world;
        tutti_handles.self = program_self;
    }
    base = BASE_NONE;
}

/* Collective over the base. 1: it is closed; 0: a rank of it has died, and it is left as it is. */
static int close_base(int last)
{
    TUTTI_INSIDE();
    const int all = !tutti_door.on || tutti_life_all_here();
    if (tutti_door.on)
        tutti_life_shut(all, last);
    if (!all)
        return 0;
    free_base();
    return 1;
}

/* ---- a communicator of a group ---- */

/* Of the *n ranks of `comm` those in the base. Takes no memory: a rank that did not see what the others see would stay
 * away from their agreement. */
static int ranks_in_base(MPI_Comm comm, int *n)
{
    MPI_Group group, all;
    int in = 0;
    *n = 0;
    if (tutti_next.MPI_Comm_group(comm, &group) != MPI_SUCCESS)
        return 0;
    if (tutti_next.MPI_Comm_group(tutti_handles.world, &all) == MPI_SUCCESS) {
        tutti_next.MPI_Group_size(group, n);
        for (int i = 0, there; i < *n; i++)
            in += tutti_next.MPI_Group_translate_ranks(group, 1, &i, all, &there) == MPI_SUCCESS &&
                  there != MPI_UNDEFINED;
        tutti_next.MPI_Group_free(&all);
    }
    tutti_next.MPI_Group_free(&group);
    return in;
}

/* 1 if this rank may leave its base: nothing is under way, and nothing depends on its communicators' teams. */
static int may_leave(void)
{
    tutti_unwatched_watch();
    return !tutti_door.on || (!tutti_progress_busy() && tutti_requests_none() && !tutti_unexpected_on() &&
                              !tutti_comms_have_stream() && !tutti_front->shmem_is_up());
}

/* Collective over `comm`, which holds all ranks of the base that there is. 1: the door is open over its ranks. */
static int door_move(MPI_Comm comm)
{
    MPI_Comm world, self;
    if (mixed || (base != BASE_NONE && !close_base(0)))
        return 0;
    if (make_base(comm, &world, &self) != 0) {
        say_once("no communicator of Tutti's own session can be made");
        return 0;
    }
    program_world = tutti_handles.world;
    program_self = tutti_handles.self;
    tutti_handles.world = world;
    tutti_handles.self = self;
    base = BASE_SESSION;
    tutti_life_open(is_multiple());
    return 1;
}

/* Collective over `comm`. All its ranks see alike whether the base holds them all: then nothing is done. */
static void sessions_open_over(MPI_Comm comm)
{
    int n = 0, in = 0, size = 0, mine = 1, all = 0;
    if (base != BASE_NONE) {
        in = ranks_in_base(comm, &n);
        if (in == n)
            return;
        tutti_next.MPI_Comm_size(tutti_handles.world, &size);
        mine = base == BASE_SESSION && in == size && may_leave();
    } else if (tutti_quirks_row()->session_needs_world) {
        tutti_next.MPI_Comm_size(comm, &size);
        if (size == 1) {
            say_once("this MPI has no progress while there is no communicator of several processes");
            return;
        }
    }
    mine = mine && session_open_own();
    if (tutti_next.MPI_Allreduce(&mine, &all, 1, MPI_INT, tutti_handles.min, comm) != MPI_SUCCESS || !all) {
        if (base == BASE_NONE)
            say_once("on some rank no session of Tutti's own can be made, or other communicators are in use");
        return;
    }
    (void)door_move(comm);
}

int tutti_door_MPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                                          MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    const int code = tutti_next.MPI_Comm_create_from_group(group, stringtag, info, errhandler, newcomm);
    if (code != MPI_SUCCESS || tutti_inside || !newcomm || *newcomm == tutti_handles.no_comm)
        return code;
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    sessions_open_over(*newcomm);
    pthread_mutex_unlock(&lock);
    if (tutti_door.on)
        tutti_short_recv_look(errhandler);
    return code;
}

/* ---- life ---- */

/* 1 if the info asks for MPI_THREAD_MULTIPLE. */
static int asks_for_threads(MPI_Info info)
{
    char level[64] = "";
    int flag = 0;
    return info != tutti_handles.no_info &&
           tutti_next.MPI_Info_get(info, "thread_level", (int)sizeof level - 1, level, &flag) == MPI_SUCCESS && flag &&
           strcmp(level, "MPI_THREAD_MULTIPLE") == 0;
}

int tutti_door_MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    MPI_Info more = tutti_handles.no_info;
    const int async = tutti_settings()->async_progress && tutti_next.MPI_Info_create;
    if (async) {
        TUTTI_INSIDE();
        if ((info == tutti_handles.no_info ? tutti_next.MPI_Info_create(&more)
                                           : tutti_next.MPI_Info_dup(info, &more)) == MPI_SUCCESS)
            tutti_next.MPI_Info_set(more, "thread_level", "MPI_THREAD_MULTIPLE");
    }
    tutti_asked_hide();
    const int code = tutti_next.MPI_Session_init(more != tutti_handles.no_info ? more : info, errhandler, session);
    tutti_asked_show();
    if (code == MPI_SUCCESS && !tutti_inside) {
        TUTTI_INSIDE();
        pthread_mutex_lock(&lock);
        sessions++;
        threads |= asks_for_threads(more != tutti_handles.no_info ? more : info);
        if (threads)
            tutti_receives_end();
        pthread_mutex_unlock(&lock);
    }
    if (more != tutti_handles.no_info)
        tutti_next.MPI_Info_free(&more);
    return code;
}

/* The lock is held. Nothing is left that the door is for. */
static void sessions_end(void)
{
    if (sessions > 0 || world_up || base == BASE_WORLD)
        return;
    TUTTI_INSIDE();
    if (base == BASE_NONE || close_base(1))
        session_close_own();
    threads = 0;
}

int tutti_door_MPI_Session_finalize(MPI_Session *session)
{
    const int code = tutti_next.MPI_Session_finalize(session);
    if (code != MPI_SUCCESS || tutti_inside)
        return code;
    pthread_mutex_lock(&lock);
    sessions--;
    sessions_end();
    pthread_mutex_unlock(&lock);
    return code;
}

void tutti_sessions_world(void)
{
    pthread_mutex_lock(&lock);
    world_up = 1;
    if (base == BASE_NONE) {
        base = BASE_WORLD;
        mixed = !tutti_job_whole();
        if (!mixed)
            tutti_life_open(is_multiple());
        else
            tutti_info("every call is passed on to the MPI");
    } else {
        TUTTI_INSIDE();
        sessions_open_over(program_world);
    }
    pthread_mutex_unlock(&lock);
}

/* Where some rank has a session that may outlive MPI_Finalize, the door is to outlive it too: on all ranks, since they
 * end together. */
void tutti_sessions_world_ends(void)
{
    int mine = sessions > 0, any = 0, all = 0;
    if (base != BASE_WORLD || !tutti_next.MPI_Session_init)
        return;
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    const MPI_Comm world = tutti_handles.world;
    if (tutti_next.MPI_Allreduce(&mine, &any, 1, MPI_INT, tutti_handles.max, world) == MPI_SUCCESS && any) {
        mine = may_leave() && session_open_own();
        if (tutti_next.MPI_Allreduce(&mine, &all, 1, MPI_INT, tutti_handles.min, world) != MPI_SUCCESS || !all ||
            !door_move(world)) {
            say_once("MPI_Finalize was called while something is under way");
            if (tutti_door.on)
                tutti_life_shut(1, 1);
        }
    }
    pthread_mutex_unlock(&lock);
}

int tutti_sessions_carry(void)
{
    return base == BASE_SESSION;
}

void tutti_sessions_world_over(void)
{
    pthread_mutex_lock(&lock);
    world_up = 0;
    if (base == BASE_WORLD)
        free_base();
    else if (base == BASE_SESSION && tutti_door.on && !tutti_door.multiple)
        tutti_hook_open();
    sessions_end();
    pthread_mutex_unlock(&lock);
}
