/* MPI_Init and MPI_Finalize. */
#include "core/log.h"
#include "core/settings.h"
#include "mpi/front/asked.h"
#include "mpi/front/front.h"
#include "mpi/front/job.h"
#include "mpi/real/hook.h"
#include "team/node.h"

static void watch_self(void);

static void world_begin(void)
{
    tutti_sessions_world();
    watch_self();
}

int tutti_door_MPI_Init(int *argc, char ***argv)
{
    tutti_job_enter();
    tutti_asked_hide();
    int got, code = tutti_settings()->async_progress ? tutti_next.MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &got)
                                                     : tutti_next.MPI_Init(argc, argv);
    tutti_asked_show();
    if (code == MPI_SUCCESS)
        world_begin();
    return code;
}

int tutti_door_MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    if (tutti_settings()->async_progress)
        required = MPI_THREAD_MULTIPLE;
    tutti_job_enter();
    tutti_asked_hide();
    int code = tutti_next.MPI_Init_thread(argc, argv, required, provided);
    tutti_asked_show();
    if (code == MPI_SUCCESS)
        world_begin();
    return code;
}

/* ---- the attributes of MPI_COMM_SELF ---- */

/* MPI_Finalize deletes them first, while programs may still use the MPI in their callbacks, and the latest first: the
 * door sets one before the program can, and is shut in its callback. */
static int self_keyval, self_is_set;

static int on_self_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    self_is_set = 0;
    if (tutti_door.on && !tutti_sessions_carry())
        tutti_life_shut(1, 1);
    return MPI_SUCCESS;
}

static int on_self_copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static void watch_self(void)
{
    static int mark;
    if (tutti_next.MPI_Comm_create_keyval(on_self_copied, on_self_deleted, &self_keyval, NULL) != MPI_SUCCESS)
        return;
    self_is_set = tutti_next.MPI_Comm_set_attr(tutti_handles.self, self_keyval, &mark) == MPI_SUCCESS;
    tutti_next.MPI_Comm_free_keyval(&self_keyval); /* it lives as long as the attribute */
}

/* The MPI's own end waits for all ranks: not for one that is dead. */
static int finalize_real(int died)
{
    if (!died)
        return tutti_next.MPI_Finalize();
    tutti_warn("process %d of this machine has died: MPI_Finalize does not wait for it, the MPI is left as it is",
               died);
    return MPI_SUCCESS;
}

/* All ranks come here before the MPI's own end begins, which cannot be left again: it waits for a dead rank. */
static int come_to_the_end(int *died)
{
    TUTTI_INSIDE();
    const int all = tutti_life_all_here();
    *died = all || !tutti_door.node ? 0 : tutti_node_dead(tutti_door.node);
    return all;
}

int tutti_door_MPI_Finalize(void)
{
    int died = 0;
    if (tutti_door.on) {
        const int all = come_to_the_end(&died);
        if (all)
            tutti_sessions_world_ends();
        tutti_hook_close(); /* an MPI may wait for hooks before it deletes attributes */
        if (tutti_door.on && (died || !all || (!self_is_set && !tutti_sessions_carry())))
            tutti_life_shut(all, 1);
    }
    const int code = finalize_real(died);
    tutti_sessions_world_over();
    return code;
}
