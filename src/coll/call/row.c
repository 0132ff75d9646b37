#include "coll/call/row.h"

#include "coll/launch/flow.h"
#include "coll/launch/linger.h"
#include "coll/move/lead.h"

static int row_is_led(const struct tutti_algorithm *row, const struct tutti_team *team, const struct tutti_call *call)
{
    return row->leads && tutti_lead_is(team, call);
}

int tutti_row_can(const struct tutti_algorithm *row, const struct tutti_team *team, const struct tutti_call *call)
{
    if (!tutti_algorithm_can(row, team, call))
        return 0;
    if (!row->runs)
        return 1;
    return row_is_led(row, team, call) ? tutti_lead_can(team, call, row->runs) : tutti_runs_can(team, call, row->runs);
}

static int row_run_flow(const struct tutti_algorithm *row, struct tutti_team *team, const struct tutti_call *call)
{
    if (row->places)
        return tutti_flow_run_mapped(team, call, row->flow);
    if (row->lingers && tutti_linger_can(team, call))
        return tutti_linger_run(team, call);
    return tutti_flow_run(team, call, row->flow);
}

int tutti_row_run(const struct tutti_algorithm *row, struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    if (row->run)
        return row->run(team, call, fits);
    if (row_is_led(row, team, call))
        return tutti_lead_run(team, call, fits, row->runs);
    *fits = 1;
    return row->runs ? tutti_runs_run(team, call, row->runs) : row_run_flow(row, team, call);
}

int tutti_row_enqueues(const struct tutti_algorithm *row)
{
    return row->enqueue || row->flow || row->runs;
}

int tutti_row_enqueue(const struct tutti_algorithm *row, struct tutti_team *team, const struct tutti_call *call,
                      struct tutti_stream *stream)
{
    if (row->enqueue)
        return row->enqueue(team, call, stream);
    if (row->runs)
        return tutti_runs_put(team, call, stream, row->runs);
    return row->places ? tutti_flow_put_mapped(team, call, stream, row->flow)
                       : tutti_flow_put(team, call, stream, 0, row->flow);
}
