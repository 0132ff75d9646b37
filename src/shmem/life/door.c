/* The address space of the process, for the door (shmem.h). */
#include "progress/engine.h"
#include "shmem/far.h"
#include "shmem/here.h"

/* Steps of the progress engine have no argument. */
static void poll_wire(void)
{
    tutti_shmem_far_poll(tutti_shmem_here());
}

static void door_say_where(char *text, size_t size)
{
    tutti_shmem_far_where(tutti_shmem_here(), text, size);
}

static struct tutti_step step = {.name = "PEs of other nodes", .poll = poll_wire, .where = door_say_where};

int tutti_shmem_open(struct tutti_transport *transport, struct tutti_node *node, const struct tutti_shmem_host *host)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    space->step = &step;
    return tutti_shmem_space_open(space, transport, node, host);
}

void tutti_shmem_close(void)
{
    tutti_shmem_space_close(tutti_shmem_here());
}

void tutti_shmem_forget(void)
{
    tutti_shmem_space_forget(tutti_shmem_here());
}

int tutti_shmem_unavailable(const char *call, const char *why)
{
    return tutti_shmem_answer(tutti_shmem_here(), TUTTI_ERR_UNAVAILABLE, call, "%s", why);
}
