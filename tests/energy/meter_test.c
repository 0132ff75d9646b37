/* The meter over pretended sources, at times that the test chooses: sums against a plain oracle over random traces;
 * counters that wrap, do not change, go back, count a module or cannot be read; domains that are missing. meter_test
 * LIBRARY */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "energy/meter.h"
#include "fake_nvml.h"
#include "support/check.h"
#include "support/random.h"

#define EXPECT(fine) CHECK(fine, "%s", #fine)

static const char *library;
static struct fake_nvml *fake;
static char folder[64];
static uint64_t state;

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    EXPECT(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void put_number(const char *name, unsigned long long value)
{
    char text[40];
    snprintf(text, sizeof text, "%llu\n", value);
    put(name, text);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    EXPECT(mkdir(path, 0755) == 0);
}

/* Two sockets, one with memory; the package a second time, and a domain that is not read. */
static void make_tree(void)
{
    static const char *const domains[][2] = {{"intel-rapl:0", "package-0"},
                                             {"intel-rapl:0:0", "core"},
                                             {"intel-rapl:0:1", "dram"},
                                             {"intel-rapl:1", "package-1"},
                                             {"intel-rapl-mmio:0", "package-0"}};
    strcpy(folder, "/tmp/tutti-energy-XXXXXX");
    EXPECT(mkdtemp(folder) != NULL);
    for (int i = 0; i < 5; i++) {
        char name[64];
        make_folder(domains[i][0]);
        snprintf(name, sizeof name, "%s/name", domains[i][0]);
        put(name, domains[i][1]);
        snprintf(name, sizeof name, "%s/energy_uj", domains[i][0]);
        put(name, "1000\n");
        snprintf(name, sizeof name, "%s/max_energy_range_uj", domains[i][0]);
        put(name, "262143328850\n");
    }
}

static void drop_tree(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    EXPECT(system(command) == 0);
}

static struct tutti_energy *open_meter(const char *gpus, const char *cpuinfo)
{
    struct tutti_energy *meter = NULL;
    const struct tutti_energy_options o = {
        .gpus = gpus, .nvml = library, .powercap = folder, .cpuinfo = cpuinfo, .every_rank = 1};
    EXPECT(energy_meter_make(&o, &meter) == 0);
    return meter;
}

static int named(const struct tutti_energy *meter, const char *name)
{
    for (int i = 0; i < meter->sources.n; i++) {
        if (strcmp(meter->sources.source[i].about.name, name) == 0)
            return i;
    }
    fprintf(stderr, "there is no source %s\n", name);
    exit(1);
}

static int near_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 + 1e-9 * fabs(b);
}

static void reset_fake(void)
{
    *fake = (struct fake_nvml){.count = FAKE_GPUS};
}

/* Random traces: counters that wrap at a small range, power that changes at every sample; windows at random samples. */
static void test_traces(void)
{
    enum { ROUNDS = 40, SAMPLES = 60 };
    for (int round = 0; round < ROUNDS; round++) {
        make_tree();
        reset_fake();
        const unsigned long long range = 1000000 + random_next(&state) % 5000000;
        unsigned long long counter = random_next(&state) % range;
        put_number("intel-rapl:0/max_energy_range_uj", range);
        put_number("intel-rapl:0/energy_uj", counter);
        struct tutti_energy *meter = open_meter("", "/dev/null");
        struct tutti_energy_figure figure[ENERGY_SOURCES];
        const int package = named(meter, "package-0"), gpu = named(meter, "gpu 1");
        const int begin = (int)(random_next(&state) % 20),
                  end = begin + 1 + (int)(random_next(&state) % (SAMPLES - 20));
        double uj = 0, joules = 0, mj = 0, watts = 0;
        uint64_t now = random_next(&state) % 1000000000;
        int window = -1;
        for (int s = 0; s <= end; s++) {
            const unsigned long long rise = 1 + random_next(&state) % (range - 1),
                                     more = 1 + random_next(&state) % 100000;
            const uint64_t step = 1 + random_next(&state) % 200000000;
            const double before = watts;
            fake->mw[1] = (unsigned)(random_next(&state) % 700000);
            watts = fake->mw[1] * 1e-3;
            now += step;
            if (s > 0) {
                counter = counter + rise > range ? counter + rise - range : counter + rise;
                put_number("intel-rapl:0/energy_uj", counter);
                fake->mj[1] += more;
            }
            if (window >= 0) {
                uj += (double)rise;
                mj += (double)more;
                joules += (double)step * 1e-9 * (before + watts) / 2;
            }
            energy_meter_sample(meter, now);
            if (s == begin)
                window = energy_window_begin(meter);
        }
        EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
        EXPECT(near_to(figure[package].joules, uj * 1e-6));
        EXPECT(figure[package].updates == end - begin);
        EXPECT(isnan(figure[package].integral));
        EXPECT(near_to(figure[gpu].joules, mj * 1e-3));
        EXPECT(near_to(figure[gpu].integral, joules));
        EXPECT(near_to(figure[gpu].difference, 100 * (joules - mj * 1e-3) / (mj * 1e-3)));
        EXPECT(figure[gpu].clock_mhz == 1980 && figure[gpu].celsius == 41 && figure[gpu].cap_w == 700);
        tutti_energy_close(meter);
        drop_tree();
    }
}

static void test_domains(void)
{
    make_tree();
    reset_fake();
    struct tutti_energy *meter = open_meter("GPU-fake-2,GPU-fake-9", "/dev/null");
    struct tutti_energy_source about;
    EXPECT(tutti_energy_sources(meter) == 5); /* neither core nor the second package-0 */
    EXPECT(tutti_energy_source(meter, named(meter, "gpu 0"), &about) == 0 && strcmp(about.id, "GPU-fake-2") == 0 &&
           about.power);
    EXPECT(tutti_energy_source(meter, named(meter, "gpu 1"), &about) == 0 &&
           strstr(about.reason, "knows no GPU GPU-fake-9"));
    EXPECT(named(meter, "package-1") >= 0 && named(meter, "dram-0") >= 0);
    EXPECT(tutti_energy_source(meter, 5, &about) < 0);
    tutti_energy_close(meter);
    drop_tree();
}

/* Empty folder, on a machine and on a virtual one; no folder; no library; a library that does not start. */
static void test_missing(void)
{
    struct tutti_energy_source about;
    struct tutti_energy_figure figure[8];
    strcpy(folder, "/tmp/tutti-energy-XXXXXX");
    EXPECT(mkdtemp(folder) != NULL);
    reset_fake();
    fake->init = 9;
    put("cpuinfo", "processor : 0\nflags\t\t: fpu hypervisor lahf_lm\n");
    char cpuinfo[128];
    snprintf(cpuinfo, sizeof cpuinfo, "%s/cpuinfo", folder);
    struct tutti_energy *meter = open_meter("", cpuinfo);
    EXPECT(tutti_energy_sources(meter) == 3);
    EXPECT(tutti_energy_source(meter, 0, &about) == 0 && strstr(about.reason, "Driver Not Loaded"));
    EXPECT(tutti_energy_source(meter, 1, &about) == 0 && strstr(about.reason, "no domain package") &&
           strstr(about.reason, "virtual"));
    EXPECT(tutti_energy_source(meter, 2, &about) == 0 && strstr(about.reason, "no domain dram"));
    const int window = tutti_energy_begin(meter);
    EXPECT(tutti_energy_end(meter, window, figure, 8) == 0);
    for (int i = 0; i < 3; i++)
        EXPECT(isnan(figure[i].joules) && isnan(figure[i].integral) && figure[i].reason[0]);
    EXPECT(tutti_energy_end(meter, window, figure, 8) < 0);
    tutti_energy_close(meter);
    drop_tree(); /* and the folder is gone */
    meter = NULL;
    const struct tutti_energy_options o = {
        .nvml = "/nowhere/libnvidia-ml.so", .powercap = folder, .cpuinfo = "/dev/null", .every_rank = 1};
    EXPECT(energy_meter_make(&o, &meter) == 0);
    EXPECT(tutti_energy_source(meter, 0, &about) == 0 && strstr(about.reason, "no NVML"));
    EXPECT(tutti_energy_source(meter, 1, &about) == 0 && strstr(about.reason, "No such file") &&
           !strstr(about.reason, "virtual"));
    tutti_energy_close(meter);
}

/* Root may read all: the look is that of another user. */
static void test_denied(void)
{
    make_tree();
    reset_fake();
    char path[128];
    EXPECT(chmod(folder, 0755) == 0);
    snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", folder);
    EXPECT(chmod(path, 0400) == 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        if (getuid() != 65534 && chmod(path, 0) != 0)
            _exit(2);
        struct tutti_energy *meter = open_meter("none", "/dev/null");
        struct tutti_energy_source about;
        tutti_energy_source(meter, named(meter, "package-0"), &about);
        const int good = strstr(about.reason, "no permission") != NULL;
        tutti_energy_source(meter, named(meter, "package-1"), &about);
        _exit(good && !about.reason[0] ? 0 : 1);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    drop_tree();
}

static void two_seconds(struct tutti_energy *meter, int steps, const unsigned long long mj[])
{
    for (int s = 1; s <= steps; s++) {
        for (int g = 0; g < FAKE_GPUS; g++)
            fake->mj[g] += mj[g];
        energy_meter_sample(meter, 1000000000u + (uint64_t)s * 2000000000u / (unsigned)steps);
    }
}

/* GPU 0: its counter does not change. GPU 1: it goes back. GPU 2: it cannot be read any more at the end. */
static void test_counters(void)
{
    make_tree();
    reset_fake();
    for (int g = 0; g < FAKE_GPUS; g++) {
        fake->mj[g] = 5000000;
        fake->mw[g] = 100000;
    }
    struct tutti_energy *meter = open_meter("", "/dev/null");
    struct tutti_energy_figure figure[ENERGY_SOURCES];
    energy_meter_sample(meter, 1000000000);
    const int window = energy_window_begin(meter);
    two_seconds(meter, 20, (const unsigned long long[]){0, 10000, 10000});
    EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
    EXPECT(isnan(figure[0].joules) && strstr(figure[0].reason, "does not change") && near_to(figure[0].integral, 200));
    EXPECT(near_to(figure[1].joules, 200) && near_to(figure[1].difference, 0) && !figure[1].reason[0]);
    fake->mj[1] = 17;
    fake->counter_status[2] = 4;
    energy_meter_sample(meter, 3100000000u);
    EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
    EXPECT(isnan(figure[1].joules) && strstr(figure[1].reason, "went back"));
    EXPECT(isnan(figure[2].joules) && strstr(figure[2].reason, "Insufficient Permissions"));
    fake->counter_status[2] = 0; /* one failure in the middle loses nothing */
    fake->mj[2] += 1000;
    energy_meter_sample(meter, 3200000000u);
    EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
    EXPECT(near_to(figure[2].joules, 201));
    tutti_energy_close(meter);
    drop_tree();
}

/* GPU 0: the first readings fail and later ones do not. The rise is counted from the first reading that succeeds, in
 * the sums and in the trace. GPU 1: the device has no counter. GPU 2: it has neither counter nor power. */
static void test_late(void)
{
    make_tree();
    reset_fake();
    for (int g = 0; g < FAKE_GPUS; g++) {
        fake->mj[g] = 7000000;
        fake->mw[g] = 60000;
    }
    fake->counter_status[0] = fake->power_status[0] = 4;
    fake->counter_status[1] = fake->counter_status[2] = fake->power_status[2] = 3;
    struct tutti_energy *meter = open_meter("", "/dev/null");
    struct tutti_energy_figure figure[ENERGY_SOURCES];
    double seconds, watts[FAKE_GPUS], joules[FAKE_GPUS];
    meter->trace = 1;
    energy_meter_sample(meter, 1000000000);
    const int early = energy_window_begin(meter);
    energy_meter_sample(meter, 1500000000);
    fake->counter_status[0] = fake->power_status[0] = 0;
    energy_meter_sample(meter, 2000000000);
    const int late = energy_window_begin(meter);
    two_seconds(meter, 4, (const unsigned long long[]){30000, 0, 0});
    EXPECT(energy_window_look(meter, early, figure, ENERGY_SOURCES) == 0);
    EXPECT(isnan(figure[0].joules) && isnan(figure[0].integral) && figure[0].reason[0]);
    EXPECT(isnan(figure[1].joules) && strstr(figure[1].reason, "no energy counter") && !isnan(figure[1].integral));
    EXPECT(isnan(figure[2].joules) && isnan(figure[2].integral) && strstr(figure[2].reason, "no power reading"));
    EXPECT(energy_window_look(meter, late, figure, ENERGY_SOURCES) == 0);
    EXPECT(near_to(figure[0].joules, 120) && figure[0].updates == 4);
    EXPECT(tutti_energy_sample(meter, 0, &seconds, watts, joules, FAKE_GPUS) == 0);
    EXPECT(isnan(watts[0]) && isnan(joules[0]) && watts[1] == 60 && isnan(joules[1]) && isnan(watts[2]));
    EXPECT(tutti_energy_sample(meter, tutti_energy_samples(meter) - 1, &seconds, watts, joules, FAKE_GPUS) == 0);
    EXPECT(watts[0] == 60 && near_to(joules[0], 120)); /* not what the driver had counted before */
    tutti_energy_close(meter);
    drop_tree();
}

/* The counter of GPU 0 counts its module, that of GPU 1 the GPU. */
static void test_module(void)
{
    make_tree();
    reset_fake();
    fake->module = 1;
    for (int g = 0; g < FAKE_GPUS; g++) {
        fake->mw[g] = 100000;
        fake->module_mw[g] = 180000;
    }
    struct tutti_energy *meter = open_meter("", "/dev/null");
    struct tutti_energy_figure figure[ENERGY_SOURCES];
    energy_meter_sample(meter, 1000000000);
    const int window = energy_window_begin(meter);
    two_seconds(meter, 20, (const unsigned long long[]){18000, 10000, 10000});
    EXPECT(energy_window_look(meter, window, figure, ENERGY_SOURCES) == 0);
    EXPECT(figure[0].scope == TUTTI_ENERGY_MODULE && near_to(figure[0].integral, 360) &&
           near_to(figure[0].difference, 0));
    EXPECT(figure[1].scope == TUTTI_ENERGY_OWN && near_to(figure[1].integral, 200));
    tutti_energy_close(meter);
    drop_tree();
}

/* With the thread: it samples by itself, a trace is kept, and closing does not wait for the next sample. */
static void test_thread(void)
{
    make_tree();
    reset_fake();
    fake->mw[0] = 50000;
    struct tutti_energy *meter = NULL;
    struct tutti_energy_figure figure[ENERGY_SOURCES];
    struct tutti_energy_options o = {.interval_ms = 1,
                                     .gpus = "GPU-fake-0",
                                     .nvml = library,
                                     .powercap = folder,
                                     .cpuinfo = "/dev/null",
                                     .every_rank = 1,
                                     .trace = 1};
    EXPECT(tutti_energy_open(&o, &meter) == 0);
    const int window = tutti_energy_begin(meter);
    while (tutti_energy_samples(meter) < 20) {
        fake->mj[0] += 10;
        usleep(1000);
    }
    EXPECT(tutti_energy_end(meter, window, figure, ENERGY_SOURCES) == 0);
    EXPECT(figure[0].updates > 0 && near_to(figure[0].integral, 50 * figure[0].seconds));
    double before = -1, seconds, watts[1], joules[1];
    for (long s = 0; s < tutti_energy_samples(meter); s++) {
        EXPECT(tutti_energy_sample(meter, s, &seconds, watts, joules, 1) == 0);
        EXPECT(seconds > before && watts[0] == 50);
        before = seconds;
    }
    EXPECT(tutti_energy_sample(meter, 1L << 40, &seconds, watts, joules, 1) < 0);
    EXPECT(tutti_energy_own_seconds(meter) > 0);
    tutti_energy_close(meter);
    o.interval_ms = 60000;
    o.every_rank = 0;
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
    EXPECT(tutti_energy_open(&o, &meter) == 0);
    struct tutti_energy_source about;
    EXPECT(tutti_energy_source(meter, 1, &about) == 0 && strstr(about.reason, "first rank"));
    tutti_energy_close(meter);
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    drop_tree();
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
    test_traces();
    test_domains();
    test_missing();
    test_denied();
    test_counters();
    test_late();
    test_module();
    test_thread();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
