/* The meter's thread asks a GPU few questions. The pretended NVML counts them, at times that the test chooses.
 * questions_test LIBRARY */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "energy/meter.h"
#include "fake_nvml.h"
#include "support/check.h"
#include "support/random.h"

#define EXPECT(fine) CHECK(fine, "%s", #fine)

static const char *library;
static struct fake_nvml *fake;
static uint64_t state;

static struct tutti_energy *open_meter(void)
{
    struct tutti_energy *meter = NULL;
    const struct tutti_energy_options o = {
        .gpus = "GPU-fake-0", .nvml = library, .powercap = "/not/there", .cpuinfo = "/dev/null", .every_rank = 1};
    EXPECT(energy_meter_make(&o, &meter) == 0);
    return meter;
}

static int near_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 + 1e-9 * fabs(b);
}

/* Samples of the thread from from_ns on, for `seconds`; the counter of GPU 0 rises at multiples of period_ns. How often
 * it did. */
static long many_ticks(struct tutti_energy *meter, uint64_t from_ns, int seconds, uint64_t interval_ns,
                       uint64_t period_ns)
{
    long rises = 0;
    uint64_t last = from_ns / period_ns;
    for (uint64_t now = from_ns + interval_ns; now <= from_ns + (uint64_t)seconds * 1000000000u; now += interval_ns) {
        const uint64_t risen = now / period_ns - last;
        last += risen;
        rises += (long)risen;
        fake->mj[0] += risen * 7;
        energy_meter_tick(meter, now);
    }
    return rises;
}

/* The thread asks a GPU few questions: its counter every few periods once the period is known, one field a sample. The
 * joules and the updates of a window are those of a counter that is read each time. A counter that stops is found. */
static void test_few_questions(void)
{
    for (int turn = 0; turn < 200; turn++) {
        *fake = (struct fake_nvml){.count = FAKE_GPUS};
        fake->mw[0] = 90000;
        struct tutti_energy *meter = open_meter();
        struct tutti_energy_figure figure[ENERGY_SOURCES];
        const uint64_t interval = (20 + random_next(&state) % 81) * 1000000u,
                       period = (80 + random_next(&state) % 41) * 1000000u, start = 1000000000u;
        energy_meter_sample(meter, start);
        many_ticks(meter, start, 5, interval, period);
        energy_meter_sample(meter, start + 5000000000u);
        const int window = energy_window_begin(meter);
        const unsigned long long mj = fake->mj[0];
        fake->counter_reads = fake->field_reads = 0;
        const long rises = many_ticks(meter, start + 5000000000u, 20, interval, period),
                   ticks = (long)(20000000000u / interval);
        CHECK((uint64_t)fake->counter_reads <= 2 + 20000000000u / (40 * period),
              "period %llu, interval %llu: %d reads of the counter", (unsigned long long)period,
              (unsigned long long)interval, fake->counter_reads);
        CHECK(fake->field_reads <= ticks + ticks / 8 + 4, "%d fields in %ld samples", fake->field_reads, ticks);
        energy_meter_sample(meter, start + 25000000000u);
        EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
        EXPECT(near_to(figure[0].joules, (double)(fake->mj[0] - mj) * 1e-3) && near_to(figure[0].integral, 90 * 20));
        CHECK(figure[0].updates <= rises + 1 && figure[0].updates >= rises / 2,
              "period %llu, interval %llu: %ld updates, %ld are right", (unsigned long long)period,
              (unsigned long long)interval, (long)figure[0].updates, rises);
        fake->counter_reads = 0;
        for (int i = 1; i <= 40; i++) /* it stops */
            energy_meter_tick(meter, start + 25000000000u + (uint64_t)i * interval);
        const uint64_t stopped = start + 25000000000u + 40 * interval;
        energy_meter_sample(meter, stopped);
        const int frozen = energy_window_begin(meter);
        energy_meter_sample(meter, stopped + 2000000000u);
        EXPECT(energy_window_look(meter, frozen, figure, ENERGY_SOURCES) == 0);
        EXPECT(isnan(figure[0].joules) && strstr(figure[0].reason, "does not change") && figure[0].updates == 0);
        tutti_energy_close(meter);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    library = argv[1];
    state = check_seed();
    printf("seed %llu\n", (unsigned long long)state);
    fake = fake_nvml_of(library);
    EXPECT(fake != NULL);
    test_few_questions();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
