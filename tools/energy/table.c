/* The table of joules: records of the ranks, and rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/energy/energy.h"
#include "tutti/tutti.h"

static struct energy_line *last_line(struct energy_table *table)
{
    return table->lines ? &table->line[table->lines - 1] : NULL;
}

static int name_of(const char *const names[], int n, const char *word)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0)
            return i;
    }
    return -1;
}

double energy_cell_joules(const struct energy_cell *cell, int net)
{
    static const int parts[] = {ENERGY_COUNTER, ENERGY_PACKAGE, ENERGY_DRAM};
    double sum = NAN;
    for (int i = 0; i < 3; i++) {
        const double part = (net ? cell->net : cell->joules)[parts[i]].mean;
        if (!isnan(part))
            sum = isnan(sum) ? part : sum + part;
    }
    return sum;
}

void energy_source_split(char *record, char *field[ENERGY_SOURCE_FIELDS])
{
    for (int i = 0; i < ENERGY_SOURCE_FIELDS; i++) {
        char *part = i < ENERGY_SOURCE_FIELDS - 1 ? strsep(&record, "|") : record;
        static char none[] = "";
        field[i] = part ? part : none;
    }
}

/* ---- what is shown ---- */

static void print_watts(const char *name, double watts, int *n)
{
    if (!isnan(watts))
        printf("%s%s %.2f W", (*n)++ ? ", " : "", name, watts);
}

static void print_head(struct energy_table *table)
{
    const struct bench_options *o = table->options;
    const struct bench_report *r = &table->report;
    printf("# Tutti %s energy: %s, %d ranks%s%s, %s device, %d GPU%s\n", tutti_version(), table->name, o->ranks,
           table->members[0] ? ", " : "", table->members, r->device, r->gpus, r->gpus == 1 ? "" : "s");
    bench_report_print_place(r);
    fputs(r->notes, stdout);
    fputs("# without a context: ", stdout);
    int n = 0;
    print_watts("GPUs", table->bare[ENERGY_COUNTER], &n);
    print_watts("packages", table->bare[ENERGY_PACKAGE], &n);
    print_watts("DRAM", table->bare[ENERGY_DRAM], &n);
    puts(n ? "" : "unavailable");
    printf("# windows of %g s and %ld updates, %d counted for each way; data from seed %llu, %s\n", o->window,
           o->updates, o->trials, (unsigned long long)o->seed,
           o->check ? "one call of each way validated" : "not validated");
    puts("# J of a call over all ranks; net: less idle; int: integral of the GPUs' power beside their counter; CPU s: "
         "of the ranks");
    printf("%-10s %-9s %11s %6s %11s %11s %6s %11s %7s %11s %11s %11s %11s %11s %9s %6s\n", "# Size", "Way", "us",
           "+-%", "J", "GPU J", "+-%", "GPU net", "int %", "CPU J", "CPU net", "DRAM J", "J/byte", "CPU s", "calls",
           "updates");
    fflush(stdout);
}

static void print_number(int width, double value)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.4g", width, value);
}

static void print_percent(int width, double part, double whole)
{
    if (isnan(part) || isnan(whole) || whole == 0)
        printf(" %*s", width, "-");
    else
        printf(" %*.1f", width, 100 * part / whole);
}

static void print_cell(const struct energy_table *table, const struct energy_line *line, int way)
{
    const struct energy_cell *c = &line->cell[way];
    const double joules = energy_cell_joules(c, 0), gpu = c->joules[ENERGY_COUNTER].mean;
    const int idle = way == ENERGY_IDLE;
    printf("%-10zu %-9s", line->bytes, energy_way_names[way]);
    print_number(11, idle ? NAN : c->us.mean);
    print_percent(6, idle ? NAN : c->us.half, c->us.mean);
    print_number(11, idle ? NAN : joules);
    print_number(11, idle ? NAN : gpu);
    print_percent(6, c->joules[ENERGY_COUNTER].half, gpu);
    print_number(11, idle ? NAN : c->net[ENERGY_COUNTER].mean);
    print_percent(7, c->joules[ENERGY_INTEGRAL].mean - gpu, gpu);
    print_number(11, idle ? NAN : c->joules[ENERGY_PACKAGE].mean);
    print_number(11, idle ? NAN : c->net[ENERGY_PACKAGE].mean);
    print_number(11, idle ? NAN : c->joules[ENERGY_DRAM].mean);
    print_number(11, idle ? NAN : joules / ((double)line->bytes * table->per_byte));
    print_number(11, idle ? NAN : c->joules[ENERGY_CPU].mean);
    if (idle)
        printf(" %9s", "-");
    else
        printf(" %9.0f", c->calls);
    printf(" %6ld\n", c->updates);
}

/* Watts of a way: what its windows drew. */
static void print_power(const struct energy_line *line, int way)
{
    const struct energy_cell *c = &line->cell[way];
    int n = 0;
    const double seconds = c->us.mean * 1e-6;
    printf("#   %-9s ", energy_way_names[way]);
    print_watts("GPUs", c->joules[ENERGY_COUNTER].mean / seconds, &n);
    print_watts("packages", c->joules[ENERGY_PACKAGE].mean / seconds, &n);
    print_watts("DRAM", c->joules[ENERGY_DRAM].mean / seconds, &n);
    printf("%s%.2f cores busy\n", n ? ", " : "", c->joules[ENERGY_CPU].mean / seconds);
}

static void print_line(struct energy_table *table)
{
    const struct energy_line *line = last_line(table);
    bench_report_clear(&table->report);
    for (int way = 0; way < ENERGY_WAYS; way++) {
        if (line->cell[way].known)
            print_cell(table, line, way);
    }
    for (int way = 0; way < ENERGY_WAYS; way++) {
        if (line->cell[way].known)
            print_power(line, way);
    }
    fflush(stdout);
}

int energy_table_close(void *with, int status)
{
    struct energy_table *table = with;
    (void)status;
    for (int s = 0; s < table->sources; s++) {
        char copy[512], *f[ENERGY_SOURCE_FIELDS];
        snprintf(copy, sizeof copy, "%s", table->source[s]);
        energy_source_split(copy, f);
        if (f[8][0])
            printf("# %s: unavailable: %s\n", f[0], f[8]);
        else if (f[2][0])
            printf("# %s: %s, %s; SM %s MHz, memory %s MHz, %s C, cap %s W; the counter counts the %s\n", f[0], f[2],
                   f[1], f[4], f[5], f[6], f[7], atoi(f[3]) ? "module" : "GPU");
        else
            printf("# %s: %s\n", f[0], f[1]);
    }
    if (table->whole > 0)
        printf("# reading: %.3f %% of a core\n", 100 * table->meter / table->whole);
    return 0;
}

/* ---- records ---- */

static void add_window(struct energy_table *table, const char *text)
{
    struct energy_line *line = last_line(table);
    char name[16];
    struct energy_cell c = {.known = 1};
    if (line && sscanf(text, "%15s %lf %lf %lf %lf %ld %d", name, &c.us.mean, &c.us.half, &c.calls, &c.seconds,
                       &c.updates, &c.trials) == 7) {
        const int way = name_of(energy_way_names, ENERGY_WAYS, name);
        if (way >= 0)
            line->cell[way] = c;
    }
}

static void add_joules(struct energy_table *table, const char *text)
{
    struct energy_line *line = last_line(table);
    char name[16], part_name[16];
    struct energy_value gross, net;
    if (!line ||
        sscanf(text, "%15s %15s %lf %lf %lf %lf", name, part_name, &gross.mean, &gross.half, &net.mean, &net.half) != 6)
        return;
    const int way = name_of(energy_way_names, ENERGY_WAYS, name);
    const int part = name_of(energy_part_names, ENERGY_PARTS, part_name);
    if (way < 0 || part < 0)
        return;
    line->cell[way].joules[part] = gross;
    line->cell[way].net[part] = net;
}

void energy_table_record(void *with, char *text)
{
    struct energy_table *table = with;
    static char algorithm[96];
    char *rest = bench_report_take(&table->report, text);
    if (!rest)
        return;
#define IS(name) (strcmp(text, name) == 0)
    if (IS("start"))
        print_head(table);
    else if (IS("bare"))
        sscanf(rest, "%lf %lf %lf %lf", &table->bare[ENERGY_COUNTER], &table->bare[ENERGY_INTEGRAL],
               &table->bare[ENERGY_PACKAGE], &table->bare[ENERGY_DRAM]);
    else if (IS("nccl"))
        snprintf(table->nccl, sizeof table->nccl, "%s", rest);
    else if (IS("staging"))
        snprintf(table->staging, sizeof table->staging, "%s", rest);
    else if (IS("algorithm"))
        snprintf(algorithm, sizeof algorithm, "%s", rest);
    else if (IS("meter"))
        sscanf(rest, "%lf %lf", &table->meter, &table->whole);
    else if (IS("row") && table->lines < ENERGY_LINES) {
        struct energy_line *line = &table->line[table->lines++];
        *line = (struct energy_line){.bytes = strtoull(rest, NULL, 10)};
        snprintf(line->algorithm, sizeof line->algorithm, "%s", algorithm);
        table->sources = 0;
    } else if (IS("window"))
        add_window(table, rest);
    else if (IS("joules"))
        add_joules(table, rest);
    else if (IS("source") && table->sources < ENERGY_SHOWN_SOURCES)
        snprintf(table->source[table->sources++], sizeof table->source[0], "%s", rest);
    else if (IS("done"))
        print_line(table);
#undef IS
}
