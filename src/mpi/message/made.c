#include "mpi/message/made.h"

#include <stdint.h>
#include <string.h>

#include "mpi/real/handles.h"
#include "mpi/real/lent.h"

enum { SLOTS = 256, WAYS = 2 };

int tutti_made_open;
static struct tutti_made_receive slots[SLOTS];

/* The slot of this receive, or a free one; NULL. */
static struct tutti_made_receive *made_slot(MPI_Request request, int used)
{
    uint64_t word = 0;
    memcpy(&word, &request, sizeof request);
    const uint64_t at = (word ^ word >> 7 ^ word >> 21) % SLOTS;
    for (uint64_t i = 0; i < WAYS; i++) {
        struct tutti_made_receive *slot = &slots[at ^ i * (SLOTS / WAYS)];
        if (slot->used == used && (!used || slot->request == request))
            return slot;
    }
    return NULL;
}

int tutti_made_put(const struct tutti_made_receive *made)
{
    struct tutti_made_receive *slot = made_slot(made->request, 0);
    if (!slot)
        return 0;
    *slot = *made;
    tutti_made_open++;
    return 1;
}

void tutti_made_freed(MPI_Request request)
{
    struct tutti_made_receive *slot = made_slot(request, 1);
    if (!slot)
        return;
    slot->used = 0;
    tutti_made_open--;
    tutti_type_release(slot->type);
}

void tutti_made_leave(MPI_Comm comm)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].used && slots[i].comm == comm)
            slots[i].comm = tutti_handles.no_comm;
    }
}

void tutti_made_end(void (*take)(const struct tutti_made_receive *made))
{
    for (int i = 0; i < SLOTS && tutti_made_open; i++) {
        if (!slots[i].used)
            continue;
        slots[i].used = 0;
        tutti_made_open--;
        if (take)
            take(&slots[i]);
        else
            tutti_type_release(slots[i].type);
    }
}
