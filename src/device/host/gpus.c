#include "device/host/gpus.h"

#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "device/host/arena.h"
#include "device/host/program.h"

enum {
    SHOWN = 20, /* violations of a process that are reported */
    CALLERS = 24
};

static struct gpu {
    atomic_int context, passed;
    atomic_uint life;
    atomic_int ended;         /* a life whose end Tutti has not noticed */
    _Atomic uint64_t enabled; /* GPUs whose memory its kernels reach, by bits */
    atomic_ulong violations;
} gpus[TUTTI_HOST_GPUS_MOST];

static int cards[TUTTI_HOST_GPUS_MOST], seen; /* what the program has said; 0: all, in order */
static atomic_int initialised, resets;
static uint64_t links[TUTTI_HOST_GPUS_MOST];
static struct tutti_once links_once = TUTTI_ONCE_INIT;
static _Thread_local int chosen = -1;

int tutti_host_separate(void)
{
    return tutti_settings()->host_links[0] != '\0';
}

static int machine_cards(void)
{
    const long count = tutti_settings()->host_gpus;
    return count > 0 ? (int)count : TUTTI_HOST_GPUS_MOST;
}

int tutti_host_gpus(void)
{
    return seen ? seen : machine_cards();
}

int tutti_host_card(int gpu)
{
    return seen ? cards[gpu] : gpu;
}

int tutti_host_program_see(const char *list)
{
    int n = 0, got[TUTTI_HOST_GPUS_MOST];
    for (const char *at = list; *at; at += *at == ',') {
        char *end;
        const long card = strtol(at, &end, 10);
        if (end == at || card < 0 || card >= machine_cards() || n == TUTTI_HOST_GPUS_MOST)
            return TUTTI_ERR_ARGUMENT;
        got[n++] = (int)card;
        at = end;
    }
    if (n == 0 || initialised)
        return TUTTI_ERR_ARGUMENT;
    memcpy(cards, got, sizeof cards);
    seen = n;
    return TUTTI_OK;
}

/* ---- links ---- */

/* "all", "none", or pairs of cards: "0-1,2-3". */
static void read_links(void)
{
    const char *text = tutti_settings()->host_links;
    int one, other, length;
    for (int card = 0; card < TUTTI_HOST_GPUS_MOST; card++)
        links[card] = strcmp(text, "all") == 0 ? UINT64_MAX : UINT64_C(1) << card;
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0)
        return;
    while (sscanf(text, "%d-%d%n", &one, &other, &length) == 2 && one >= 0 && one < TUTTI_HOST_GPUS_MOST &&
           other >= 0 && other < TUTTI_HOST_GPUS_MOST) {
        links[one] |= UINT64_C(1) << other;
        links[other] |= UINT64_C(1) << one;
        text += length;
        text += *text == ',';
    }
    if (*text)
        tutti_error("TUTTI_HOST_LINKS: \"%s\" is not understood: all, none, or pairs such as 0-1,2-3", text);
}

int tutti_host_linked(int card, int other)
{
    tutti_once(&links_once, read_links);
    return (int)(links[card] >> other & 1);
}

int tutti_host_enable(int gpu, int owner)
{
    if (!tutti_host_linked(tutti_host_card(gpu), tutti_host_card(owner)))
        return 0;
    atomic_fetch_or(&gpus[gpu].enabled, UINT64_C(1) << owner);
    return 1;
}

/* ---- contexts ---- */

uintptr_t tutti_host_awake;

void tutti_host_wake(void)
{
    __atomic_store_n(&tutti_host_awake, 1, __ATOMIC_RELEASE);
}

void tutti_host_initialise(void)
{
    atomic_store(&initialised, 1);
    if (tutti_host_separate())
        tutti_host_wake();
}

int tutti_host_initialised(void)
{
    return atomic_load_explicit(&initialised, memory_order_relaxed);
}

int tutti_host_chosen(void)
{
    return chosen;
}

void tutti_host_choose(int gpu)
{
    chosen = gpu;
    atomic_store(&gpus[gpu].context, 1);
    tutti_host_initialise();
}

void tutti_host_pass(int gpu)
{
    if (!atomic_load_explicit(&gpus[gpu].passed, memory_order_relaxed))
        atomic_store(&gpus[gpu].passed, 1);
}

unsigned tutti_host_life(int gpu)
{
    return atomic_load(&gpus[gpu].life);
}

int tutti_host_was_reset(void)
{
    return atomic_load_explicit(&resets, memory_order_relaxed) != 0;
}

void tutti_host_end_life(int gpu)
{
    atomic_store(&resets, 1);
    atomic_fetch_add(&gpus[gpu].life, 1);
    atomic_store(&gpus[gpu].ended, 1);
    atomic_store(&gpus[gpu].context, 0);
    atomic_store(&gpus[gpu].enabled, 0);
    for (int other = 0; other < TUTTI_HOST_GPUS_MOST; other++)
        atomic_fetch_and(&gpus[other].enabled, ~(UINT64_C(1) << gpu));
    chosen = -1;
}

void tutti_host_notice(int gpu)
{
    if (gpu >= 0 && atomic_load_explicit(&gpus[gpu].ended, memory_order_relaxed) &&
        atomic_exchange(&gpus[gpu].ended, 0))
        tutti_gpu_reset(gpu);
}

void tutti_host_look(void)
{
    for (int gpu = 0; gpu < TUTTI_HOST_GPUS_MOST && tutti_host_was_reset(); gpu++)
        tutti_host_notice(gpu);
}

/* ---- violations ---- */

void tutti_host_violation(int gpu, const char *format, ...)
{
    static atomic_int shown;
    char text[256];
    va_list list;
    atomic_fetch_add(&gpus[gpu].violations, 1);
    if (atomic_fetch_add(&shown, 1) >= SHOWN)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tutti_error("host device: %s", text);
    void *callers[CALLERS];
    if (tutti_settings()->log == TUTTI_SET_LOG_DEBUG) /* the process that accesses it */
        backtrace_symbols_fd(callers, backtrace(callers, CALLERS), STDERR_FILENO);
}

unsigned long tutti_host_violations(int gpu)
{
    unsigned long sum = 0;
    for (int g = 0; g < TUTTI_HOST_GPUS_MOST; g++)
        sum += gpu < 0 || g == gpu ? atomic_load(&gpus[g].violations) : 0;
    return sum;
}

__attribute__((destructor)) static void end(void)
{
    if (tutti_host_violations(-1) == 0 || !tutti_settings()->host_strict)
        return;
    fflush(NULL);
    _exit(TUTTI_HOST_VIOLATED);
}

static int gpus_any_separate(void)
{
    for (int gpu = chosen < 0 ? 0 : TUTTI_HOST_GPUS_MOST; gpu < TUTTI_HOST_GPUS_MOST; gpu++) {
        if (atomic_load(&gpus[gpu].context))
            return gpu;
    }
    return chosen < 0 ? 0 : chosen;
}

void tutti_host_work_on(int *gpu, const char *what)
{
    if (!tutti_host_separate() || *gpu >= tutti_host_gpus() || *gpu < -1)
        return;
    if (*gpu < 0)
        *gpu = gpus_any_separate();
    tutti_host_notice(*gpu);
    if (!atomic_load(&gpus[*gpu].passed))
        tutti_host_violation(*gpu, "%s on GPU %d, of which the program has not passed any memory%s", what, *gpu,
                             atomic_load(&gpus[*gpu].context) ? "" : ": it makes a context there");
    atomic_store(&gpus[*gpu].context, 1);
}

void tutti_host_work_on_any(const char *what)
{
    int gpu = -1;
    for (int g = 0; g < TUTTI_HOST_GPUS_MOST && gpu < 0; g++)
        gpu = atomic_load(&gpus[g].passed) ? g : -1;
    tutti_host_work_on(&gpu, what);
}

int tutti_host_reaches(int gpu, const struct tutti_host_region *region, const char *what, const void *pointer)
{
    const int owner = region->gpu;
    if (gpu == owner || (atomic_load(&gpus[gpu].enabled) >> owner & 1))
        return 1;
    if (region->own != 1 && tutti_host_linked(tutti_host_card(gpu), tutti_host_card(owner)))
        return 1; /* mapped for all GPUs that can reach it */
    tutti_host_violation(gpu, "%s on GPU %d at %p, which is memory %s GPU %d: access was not enabled%s", what, gpu,
                         pointer, region->own == 1 ? "of" : "that was mapped for", owner,
                         tutti_host_linked(tutti_host_card(gpu), tutti_host_card(owner)) ? ""
                                                                                         : ", and no link joins them");
    return 0;
}
