/* A table as JSON: one object for each row, and in it one for each way. */
#include "tools/bench/json.h"

#include <stdlib.h>

#include "tools/bench/sheet.h"

#ifdef TUTTI_JANSSON
static json_t *sheet_way_json(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const struct bench_columns *c = sheet->columns;
    const struct bench_time *time = line->time[way], *base = line->time[c->base ? c->base(way) : 0];
    json_t *out = bench_json_time(time, base);
    for (const struct bench_shown *s = c->shown; s && s->title; s++) {
        if (bench_sheet_shows(c, s, line))
            json_object_set_new(out, s->key, json_real(s->of(sheet, line, way)));
    }
    for (int part = 1; c->parts && part < SHEET_PARTS; part++) {
        if (time[part].known)
            json_object_set_new(out, c->parts[part - 1], json_real(time[part].average));
    }
    if (line->went[way][0])
        json_object_set_new(out, "went", bench_json_text(line->went[way]));
    return out;
}

static json_t *sheet_line_json(const struct bench_sheet *sheet, const struct bench_line *line)
{
    const struct bench_columns *c = sheet->columns;
    json_t *out = json_object();
    for (int i = 0; c->fields[i].key; i++)
        json_object_set_new(out, c->fields[i].key,
                            c->fields[i].text ? bench_json_text(line->text[i]) : json_integer(line->number[i]));
    if (c->behind)
        json_object_set_new(out, "behind", json_boolean(c->behind(sheet, line)));
    for (int way = 0; way < c->n_ways; way++) {
        if (line->time[way][0].known)
            json_object_set_new(out, c->ways[way], sheet_way_json(sheet, line, way));
    }
    double ratio;
    const int best = c->best ? bench_sheet_best(sheet, line, &ratio) : -1;
    if (best >= 0)
        json_object_set_new(out, "best", json_pack("{s:s, s:f}", "way", c->ways[best], "ratio", ratio));
    return out;
}

int bench_sheet_json(const void *table)
{
    const struct bench_sheet *sheet = table;
    const struct bench_columns *c = sheet->columns;
    json_t *all = bench_json_about(sheet->options, sheet->report.place), *rows = json_array();
    char *what = c->title();
    json_object_set_new(all, "benchmark", json_string(sheet->name));
    json_object_set_new(all, "what", bench_json_text(what));
    free(what);
    bench_json_report(all, sheet->options, &sheet->report);
    for (int i = 0; c->facts && c->facts[i]; i++)
        json_object_set_new(all, c->facts[i], bench_json_text(sheet->fact[i]));
    bench_json_choices(all, c->choice);
    double value = 0;
    const char *key;
    for (int i = 0; c->option && (key = c->option(i, &value)) != NULL; i++)
        json_object_set_new(all, key,
                            value == (double)(json_int_t)value ? json_integer((json_int_t)value) : json_real(value));
    for (int i = 0; i < sheet->lines; i++)
        json_array_append_new(rows, sheet_line_json(sheet, &sheet->line[i]));
    json_object_set_new(all, "rows", rows);
    if (c->json)
        c->json(sheet, all);
    return bench_json_dump(all, sheet->options->json);
}
#endif
