/* The table of joules as JSON and as a plot. */
#include <math.h>
#include <stdlib.h>

#include "tools/bench/json.h"
#include "tools/energy/energy.h"

#ifdef TUTTI_JANSSON
static json_t *energy_number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *energy_value_json(const struct energy_value *value)
{
    return json_pack("{s:o, s:o}", "mean", energy_number(value->mean), "half_95", energy_number(value->half));
}

static json_t *energy_parts_json(const struct energy_value values[ENERGY_PARTS])
{
    json_t *out = json_object();
    for (int p = 0; p < ENERGY_PARTS; p++)
        json_object_set_new(out, energy_part_names[p], energy_value_json(&values[p]));
    return out;
}

static json_t *energy_cell_json(const struct energy_table *table, const struct energy_line *line, int way)
{
    const struct energy_cell *c = &line->cell[way];
    const double joules = energy_cell_joules(c, 0), gpu = c->joules[ENERGY_COUNTER].mean;
    json_t *out = json_pack("{s:o, s:f, s:f, s:i, s:i, s:o, s:o}", "us", energy_value_json(&c->us), "calls", c->calls,
                            "seconds", c->seconds, "trials", c->trials, "updates", (int)c->updates, "of_a_call",
                            energy_parts_json(c->joules), "less_idle", energy_parts_json(c->net));
    json_object_set_new(out, "joules", energy_number(joules));
    json_object_set_new(out, "joules_less_idle", energy_number(energy_cell_joules(c, 1)));
    json_object_set_new(out, "joules_a_byte", energy_number(joules / ((double)line->bytes * table->per_byte)));
    json_object_set_new(out, "joule_seconds", energy_number(joules * c->us.mean * 1e-6));
    json_object_set_new(out, "integral_differs_percent",
                        energy_number(100 * (c->joules[ENERGY_INTEGRAL].mean - gpu) / gpu));
    return out;
}

static json_t *energy_source_json(const char *record)
{
    static const char *const numbers[] = {"sm_mhz", "memory_mhz", "celsius", "cap_w"};
    char copy[512], *f[ENERGY_SOURCE_FIELDS];
    snprintf(copy, sizeof copy, "%s", record);
    energy_source_split(copy, f);
    json_t *out =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "name", bench_json_text(f[0]), "id", bench_json_text(f[1]), "model",
                  bench_json_text(f[2]), "scope", atoi(f[3]) ? "module" : "own", "unavailable", bench_json_text(f[8]));
    for (int i = 0; i < 4; i++)
        json_object_set_new(out, numbers[i], energy_number(strtod(f[4 + i], NULL)));
    return out;
}

int energy_table_json(const void *with)
{
    const struct energy_table *table = with;
    const struct bench_options *o = table->options;
    json_t *all = bench_json_about(o, table->report.place), *rows = json_array(), *sources = json_array();
    json_object_set_new(all, "energy", json_string(table->name));
    json_object_set_new(all, "members", bench_json_text(table->members));
    bench_json_report(all, o, &table->report);
    json_object_set_new(all, "nccl", bench_json_text(table->nccl));
    json_object_set_new(all, "staging", bench_json_text(table->staging));
    json_object_set_new(all, "window_s", json_real(o->window));
    json_object_set_new(all, "updates", json_integer(o->updates));
    json_object_set_new(all, "trials", json_integer(o->trials));
    json_t *bare = json_object();
    for (int p = 0; p < ENERGY_CPU; p++)
        json_object_set_new(bare, energy_part_names[p], energy_number(table->bare[p]));
    json_object_set_new(all, "watts_without_context", bare);
    json_object_set_new(all, "reading_core_percent",
                        energy_number(table->whole > 0 ? 100 * table->meter / table->whole : NAN));
    for (int i = 0; i < table->lines; i++) {
        const struct energy_line *line = &table->line[i];
        json_t *row =
            json_pack("{s:I, s:o}", "bytes", (json_int_t)line->bytes, "algorithm", bench_json_text(line->algorithm));
        for (int way = 0; way < ENERGY_WAYS; way++) {
            if (line->cell[way].known)
                json_object_set_new(row, energy_way_names[way], energy_cell_json(table, line, way));
        }
        json_array_append_new(rows, row);
    }
    for (int s = 0; s < table->sources; s++)
        json_array_append_new(sources, energy_source_json(table->source[s]));
    json_object_set_new(all, "rows", rows);
    json_object_set_new(all, "sources", sources);
    return bench_json_dump(all, o->json);
}
#endif

/* A group of boxes for each size, a box for each way: joules of a call, less idle beside all. */
static void energy_plot_data(FILE *to, const void *with)
{
    const struct energy_table *table = with;
    fputs("# size-and-way joules joules-less-idle us\n", to);
    for (int i = 0; i < table->lines; i++) {
        const struct energy_line *line = &table->line[i];
        char size[24];
        for (int way = ENERGY_IDLE + 1; way < ENERGY_WAYS; way++) {
            const struct energy_cell *c = &line->cell[way];
            const double joules = energy_cell_joules(c, 0), net = energy_cell_joules(c, 1);
            if (!c->known)
                continue;
            fprintf(to, "\"%s, %s\"", energy_way_names[way], tool_size_text(line->bytes, size));
            fprintf(to, isnan(joules) ? " -" : " %.6g", joules);
            fprintf(to, isnan(net) ? " -" : " %.6g", net);
            fprintf(to, " %.4f\n", c->us.mean);
        }
    }
}

static void energy_plot_script(FILE *to, const void *with)
{
    const struct energy_table *table = with;
    char *what = tool_print("joules of a call: %s", table->name);
    bench_plot_head(to, table->options, what, "ranks", table->report.device, 900, 600);
    free(what);
    energy_plot_data(to, with);
    fputs(
        "END_OF_DATA\nset datafile missing '-'\nset style data histograms\nset style fill solid 0.8\nset boxwidth 0.8\n"
        "set logscale y 10\nset ylabel 'joules of a call'\nset xtics rotate by -60 noenhanced\nset grid y\n"
        "set key left top\nplot $data using 2:xtic(1) title 'all', $data using 3 title 'less idle'\n",
        to);
}

int energy_table_plot(const void *with)
{
    const struct energy_table *table = with;
    int known = 0;
    for (int i = 0; i < table->lines; i++) {
        for (int way = 1; way < ENERGY_WAYS; way++)
            known |= table->line[i].cell[way].known && !isnan(energy_cell_joules(&table->line[i].cell[way], 0));
    }
    if (!known) {
        fputs("tutti: there are no joules to plot\n", stderr);
        return 0;
    }
    return bench_gnuplot(table->options->plot, energy_plot_script, energy_plot_data, table);
}
