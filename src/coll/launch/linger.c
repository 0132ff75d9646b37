#include "coll/launch/linger.h"

#include "coll/state.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"

enum { BYTES_MOST = 8192, THREADS = 256 };

int tutti_linger_agree(struct tutti_team *team)
{
    const long asked = tutti_settings()->linger_us;
    uint32_t mine = team->device->lingers && !team->is_nonblocking && asked > 0 ? (uint32_t)asked : 0;
    return tutti_team_vote(team, mine, &tutti_coll_of(team)->linger.us);
}

int tutti_linger_can(const struct tutti_team *team, const struct tutti_call *call)
{
    return tutti_coll_of(team)->linger.us > 0 && !tutti_flow_segments(call) &&
           call->count <= BYTES_MOST / tutti_type_size(call->type);
}

static void linger_shape(const struct tutti_team *team, const struct tutti_call *call, size_t elements,
                         struct tutti_flow *flow)
{
    (void)elements;
    *flow = (struct tutti_flow){.kernel = TUTTI_KERNEL_LINGER, .region = TUTTI_REGION_LL, .threads = THREADS};
    flow->room = tutti_ll_room(team);
    flow->most = flow->room / 2 / tutti_type_size(call->type);
    flow->blocks = 1;
}

/* *served: 0 if nothing was done yet. */
static int by_mail(struct tutti_team *team, const struct tutti_call *call, uint32_t launch_number, int *served)
{
    struct tutti_linger *linger = &tutti_coll_of(team)->linger;
    struct tutti_flow_args args;
    *served = 0;
    if (team->mail.launch_number == 0 || linger->type != call->type || linger->op != call->op)
        return TUTTI_OK;
    tutti_flow_args(team, call, &args);
    args.in = call->in;
    args.out = call->out;
    args.count = call->count;
    args.launch_number = launch_number;
    if (!tutti_team_mail_post(team, &args))
        return TUTTI_OK;
    tutti_phase(TUTTI_PHASE_KERNEL);
    const int status = tutti_team_await_mail(team, launch_number, served);
    linger->served += status == TUTTI_OK && *served;
    return status;
}

static int by_launch(struct tutti_team *team, const struct tutti_call *call, uint32_t launch_number)
{
    tutti_phase(TUTTI_PHASE_LAUNCH);
    int status = tutti_flow_put(team, call, team->stream, launch_number, linger_shape);
    if (status != TUTTI_OK)
        return status;
    struct tutti_linger *linger = &tutti_coll_of(team)->linger;
    team->mail.launch_number = launch_number;
    linger->type = call->type;
    linger->op = call->op;
    linger->launches++;
    tutti_coll_keeps(team);
    tutti_phase(TUTTI_PHASE_KERNEL);
    return tutti_team_await_kernel(team, launch_number);
}

int tutti_linger_run(struct tutti_team *team, const struct tutti_call *call)
{
    int served;
    tutti_waiting_begin(team);
    uint32_t launch_number = tutti_flow_number(team);
    int status = by_mail(team, call, launch_number, &served);
    if (status == TUTTI_OK && !served)
        status = by_launch(team, call, launch_number);
    tutti_waiting_end(team);
    return status;
}
