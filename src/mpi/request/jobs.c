#include "mpi/request/jobs.h"

#include "progress/pause.h"

enum {
    LOOKS = 16,           /* at requests that the library's thread works on, in each round of a wait */
    LOOKS_ALONE = 64,     /* the same where nothing else is open: each poll reads what that thread writes */
    LOOKS_BETWEEN = 1024, /* and until this is found out again */
    ROUNDS_BETWEEN = 64,  /* the same if that thread has no core of its own */
    TURNS = 2,            /* of this thread, in each round */
    TURNS_ALONE = 8       /* the same where nothing else is open */
};

static int all_are_jobs(const struct tutti_call_requests *mine)
{
    int jobs = 0;
    for (int i = 0; mine->entries && i < mine->n; i++) {
        const struct tutti_request *const entry = mine->entries[i];
        if (entry ? !entry->claimed || !entry->kind->claimed_works : mine->requests[i] != tutti_handles.no_request)
            return 0;
        jobs += entry != NULL;
    }
    return jobs > 0;
}

void tutti_jobs_begin(struct tutti_jobs *jobs, const struct tutti_call_requests *mine,
                      const struct tutti_request *first, struct tutti_wait *in)
{
    *jobs = (struct tutti_jobs){.all = all_are_jobs(mine)};
    jobs->worked = tutti_jobs_work(jobs, first);
    jobs->until_turn = 1;
    in->spins = !jobs->worked ? 0 : tutti_progress_open_alone() ? LOOKS_ALONE : LOOKS;
    in->crowded = tutti_fibers_any() && tutti_pause_crowded();
}

int tutti_jobs_work(const struct tutti_jobs *jobs, const struct tutti_request *first)
{
    return jobs->all && first && first->kind->claimed_works(first, jobs->drives);
}

void tutti_jobs_turn(struct tutti_jobs *jobs, const struct tutti_request *first, struct tutti_wait *in)
{
    const int due = --jobs->until_turn == 0;
    if (due)
        jobs->until_turn = jobs->worked ? LOOKS_BETWEEN : ROUNDS_BETWEEN;
    if (jobs->drives) {
        (void)tutti_fibers_drive(&jobs->drives, jobs->all);
    } else if ((due || in->crowded || tutti_fibers_unattended()) && tutti_fibers_drive(&jobs->drives, jobs->all)) {
        in->crowded = tutti_pause_crowded();
        in->spins = !jobs->all || in->crowded ? 0 : tutti_progress_open_alone() ? TURNS_ALONE : TURNS;
    } else if (due && first && jobs->all) {
        tutti_fiber_leave_core(&jobs->seen);
    }
}
