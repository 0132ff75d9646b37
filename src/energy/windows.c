/* Windows of a meter, and the samples that it keeps. */
#include "core/clock.h"
#include "core/status.h"
#include "energy/meter.h"

int energy_window_begin(struct tutti_energy *meter)
{
    for (int w = 0; w < ENERGY_WINDOWS; w++) {
        struct energy_window *window = &meter->window[w];
        if (window->open)
            continue;
        window->open = 1;
        for (int i = 0; i < meter->sources.n; i++)
            window->from[i] = meter->sources.source[i].sums;
        return w;
    }
    return TUTTI_ERR_UNAVAILABLE;
}

int energy_window_look(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room)
{
    if (window < 0 || window >= ENERGY_WINDOWS || !meter->window[window].open)
        return TUTTI_ERR_ARGUMENT;
    for (int i = 0; i < meter->sources.n && i < room; i++) {
        const struct energy_source *source = &meter->sources.source[i];
        energy_figure(source, &meter->window[window].from[i], &source->sums, &out[i]);
    }
    return TUTTI_OK;
}

int tutti_energy_begin(struct tutti_energy *meter)
{
    pthread_mutex_lock(&meter->lock);
    energy_meter_sample(meter, tutti_now_ns());
    const int window = energy_window_begin(meter);
    pthread_mutex_unlock(&meter->lock);
    return window;
}

static int window_read(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room, int end)
{
    pthread_mutex_lock(&meter->lock);
    energy_meter_sample(meter, tutti_now_ns());
    const int status = energy_window_look(meter, window, out, room);
    if (status == TUTTI_OK && end)
        meter->window[window].open = 0;
    pthread_mutex_unlock(&meter->lock);
    return status;
}

int tutti_energy_look(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room)
{
    return window_read(meter, window, out, room, 0);
}

int tutti_energy_end(struct tutti_energy *meter, int window, struct tutti_energy_figure *out, int room)
{
    return window_read(meter, window, out, room, 1);
}

int tutti_energy_processes(struct tutti_energy *meter, int source, int *pids, int room)
{
    if (source < 0 || source >= meter->sources.n)
        return TUTTI_ERR_ARGUMENT;
    struct energy_source *of = &meter->sources.source[source];
    return of->ops && of->ops->processes ? of->ops->processes(of, pids, room) : TUTTI_ERR_UNAVAILABLE;
}

long tutti_energy_samples(struct tutti_energy *meter)
{
    pthread_mutex_lock(&meter->lock);
    const long n = meter->n_kept;
    pthread_mutex_unlock(&meter->lock);
    return n;
}

int tutti_energy_sample(struct tutti_energy *meter, long sample, double *seconds, double *watts, double *joules,
                        int room)
{
    const int width = 1 + 2 * meter->sources.n;
    pthread_mutex_lock(&meter->lock);
    const int status = sample >= 0 && sample < meter->n_kept ? TUTTI_OK : TUTTI_ERR_ARGUMENT;
    const double *row = meter->kept + sample * width;
    if (status == TUTTI_OK && seconds)
        *seconds = row[0];
    for (int i = 0; status == TUTTI_OK && i < meter->sources.n && i < room; i++) {
        if (watts)
            watts[i] = row[1 + 2 * i];
        if (joules)
            joules[i] = row[2 + 2 * i];
    }
    pthread_mutex_unlock(&meter->lock);
    return status;
}
