#include "tools/bench/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

static int sheet_way(const struct bench_columns *columns, const char *name, size_t length)
{
    for (int way = 0; way < columns->n_ways; way++) {
        if (strlen(columns->ways[way]) == length && strncmp(columns->ways[way], name, length) == 0)
            return way;
    }
    return -1;
}

static const struct bench_time *sheet_base(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return &line->time[sheet->columns->base ? sheet->columns->base(way) : 0][0];
}

double bench_sheet_gb(const struct bench_sheet *sheet, const struct bench_line *line, int way, int time,
                      double messages)
{
    const double us = line->time[way][time].median;
    return us > 0 ? messages * (double)line->number[sheet->columns->size] / us / 1000 : 0;
}

double bench_sheet_ratio(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_time_ratio(&line->time[way][0], sheet_base(sheet, line, way));
}

int bench_sheet_shows(const struct bench_columns *columns, const struct bench_shown *shown,
                      const struct bench_line *line)
{
    return !columns->shows || columns->shows(line, (int)(shown - columns->shown));
}

int bench_sheet_best(const struct bench_sheet *sheet, const struct bench_line *line, double *ratio)
{
    int best = -1;
    for (int way = 1; way < sheet->columns->n_ways; way++) {
        const struct bench_time *time = line->time[way];
        if (time->known && (best < 0 || time->median < line->time[best][0].median))
            best = way;
    }
    *ratio = best >= 0 ? bench_time_ratio(line->time[best], line->time[0]) : 0;
    return best;
}

static int sheet_shows_best(const struct bench_sheet *sheet)
{
    int others = 0;
    for (int way = 1; way < sheet->columns->n_ways; way++)
        others |= sheet->has[way];
    return sheet->columns->best == 1 || (sheet->columns->best == 2 && others);
}

/* 1 if the last line begins a section. */
static int sheet_begins_section(const struct bench_sheet *sheet)
{
    const struct bench_line *line = &sheet->line[sheet->lines - 1];
    return sheet->lines == 1 || (sheet->columns->section && strcmp(line->text[0], line[-1].text[0]) != 0);
}

/* ---- what is shown ---- */

static void sheet_print_head(const struct bench_sheet *sheet)
{
    const struct bench_columns *c = sheet->columns;
    const struct bench_options *o = sheet->options;
    const struct bench_report *r = &sheet->report;
    char *what = c->title();
    printf("# Tutti %s %s: %d %s, %s device, %d GPU%s\n", tutti_version(), what, o->ranks,
           c->members ? c->members : "ranks", r->device, r->gpus, r->gpus == 1 ? "" : "s");
    free(what);
    bench_report_print_place(r);
    fputs(r->notes, stdout);
    if (c->about)
        c->about(sheet);
    printf("# data from seed %llu, %s%s; times in us; x: that way's median in units of Tutti's\n",
           (unsigned long long)o->seed, o->check ? "validated " : "not validated",
           !o->check    ? ""
           : c->checked ? c->checked
                        : "in the timed loop");
    fflush(stdout);
}

static void sheet_print_field(const struct bench_field *field, const struct bench_line *line, int at)
{
    if (field->text)
        printf("%*s", field->width, line ? line->text[at] : field->title);
    else if (line && (line->number[at] != 0 || !field->positive))
        printf("%*lld", field->width, line->number[at]);
    else
        printf("%*s", field->width, line ? "-" : field->title);
}

/* Fields before (own = 0), between, or behind (2) the times; line NULL: their titles. */
static void sheet_print_fields(const struct bench_columns *c, const struct bench_line *line, int own)
{
    for (int i = 0, shown = 0; c->fields[i].key; i++) {
        if (!c->fields[i].title || c->fields[i].own != own)
            continue;
        fputs(own ? "  " : shown ? " " : "", stdout);
        sheet_print_field(&c->fields[i], line, i);
        shown++;
    }
}

static const struct {
    unsigned what;
    const char *title;
} sheet_times[] = {{SHEET_AVERAGE, "Avg"},
                   {SHEET_MEDIAN, "Median"},
                   {SHEET_MIN, "Min"},
                   {SHEET_MAX, "Max"},
                   {SHEET_ITERATIONS, "Iterations"}};
enum { SHEET_TIMES = sizeof sheet_times / sizeof sheet_times[0] };

/* titles: of the columns that the line has, in place of its figures. */
static void sheet_print_own(const struct bench_sheet *sheet, const struct bench_line *line, int titles)
{
    const struct bench_columns *c = sheet->columns;
    const struct bench_time *own = titles ? NULL : line->time[0];
    for (const struct bench_shown *s = c->shown; s && s->title; s++) {
        if (!bench_sheet_shows(c, s, line))
            continue;
        if (own && own->known)
            printf(" %11.2f", s->of(sheet, line, 0));
        else
            printf(" %11s", own ? "-" : s->title);
    }
    for (int i = 0; i < SHEET_TIMES; i++) {
        const unsigned what = sheet_times[i].what;
        const int width = what == SHEET_ITERATIONS ? 10 : 11;
        if (!(c->times & what))
            continue;
        if (!own || !own->known)
            printf(" %*s", width, own ? "-" : sheet_times[i].title);
        else if (what == SHEET_ITERATIONS)
            printf(" %*ld", width, own->iterations);
        else
            printf(" %*.2f", width,
                   what == SHEET_AVERAGE  ? own->average
                   : what == SHEET_MEDIAN ? own->median
                   : what == SHEET_MIN    ? own->least
                                          : own->most);
    }
}

/* Of the columns that the line has. */
static void sheet_print_titles(const struct bench_sheet *sheet, const struct bench_line *line)
{
    const struct bench_columns *c = sheet->columns;
    if (c->section)
        printf("# %s: %s\n", line->text[0], c->section(line));
    sheet_print_fields(c, NULL, 0);
    sheet_print_own(sheet, line, 1);
    sheet_print_fields(c, NULL, 1);
    for (int way = 1; way < c->n_ways; way++) {
        if (!sheet->has[way])
            continue;
        bench_time_print_title(c->ways[way]);
        if (line->went[way][0])
            printf("  %-*s", c->went, "went");
    }
    if (sheet_shows_best(sheet))
        printf("  %-10s %7s", "best", "x");
    if (c->marks)
        printf("  %-6s", "");
    sheet_print_fields(c, NULL, 2);
    putchar('\n');
}

/* The figure of another way, and its ratio to the library's time. */
static void sheet_print_way(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const struct bench_time *time = line->time[way];
    const struct bench_shown *s = sheet->columns->shown;
    while (s && s->title && !s->peers)
        s++;
    if (!time->known || !s || !s->title)
        bench_time_print(time, sheet_base(sheet, line, way));
    else
        printf(" %11.2f %8.2f", s->of(sheet, line, way), bench_sheet_ratio(sheet, line, way));
    if (line->went[way][0])
        printf("  %-*s", sheet->columns->went, line->went[way]);
}

static void sheet_print_line(struct bench_sheet *sheet)
{
    const struct bench_columns *c = sheet->columns;
    const struct bench_line *line = &sheet->line[sheet->lines - 1];
    double ratio;
    bench_report_clear(&sheet->report);
    if (sheet_begins_section(sheet))
        sheet_print_titles(sheet, line);
    sheet_print_fields(c, line, 0);
    sheet_print_own(sheet, line, 0);
    sheet_print_fields(c, line, 1);
    for (int way = 1; way < c->n_ways; way++) {
        if (sheet->has[way])
            sheet_print_way(sheet, line, way);
    }
    if (sheet_shows_best(sheet)) {
        const int best = bench_sheet_best(sheet, line, &ratio);
        printf("  %-10s %7.2f", best >= 0 ? c->ways[best] : "-", ratio);
    }
    if (c->marks)
        printf("  %-6s", c->behind(sheet, line) ? "behind" : "");
    sheet_print_fields(c, line, 2);
    putchar('\n');
    fflush(stdout);
}

/* ---- records ---- */

static struct bench_line *sheet_last(struct bench_sheet *sheet)
{
    return sheet->report.open ? &sheet->line[sheet->lines - 1] : NULL;
}

/* The next word of the record, or (last) its rest; 0 at the end. */
static int sheet_take_field(const struct bench_field *field, struct bench_line *line, int at, const char **text,
                            int last)
{
    const size_t length = last ? strlen(*text) : strcspn(*text, " ");
    if (field->text)
        snprintf(line->text[at], sizeof line->text[at], "%.*s", (int)length, *text);
    else
        line->number[at] = strtoll(*text, NULL, 10);
    *text += length + ((*text)[length] == ' ');
    return length > 0;
}

/* "8 100 MPI_Send": the numbers of the fields without a record of their own, then their words; the last word is the
 * rest of the line. */
static void sheet_begin(struct bench_sheet *sheet, const char *text)
{
    const struct bench_field *f = sheet->columns->fields;
    struct bench_line line;
    int last = -1;
    memset(&line, 0, sizeof line);
    for (int i = 0; f[i].key; i++)
        last = f[i].text && !f[i].word ? i : last;
    for (int words = 0; words < 2; words++) {
        for (int i = 0; f[i].key; i++) {
            if (!f[i].word && f[i].text == words && !sheet_take_field(&f[i], &line, i, &text, i == last))
                return;
        }
    }
    if (sheet->lines == sheet->room) {
        sheet->room = sheet->room ? 2 * sheet->room : 64;
        sheet->line = realloc(sheet->line, (size_t)sheet->room * sizeof *sheet->line);
        if (!sheet->line)
            tool_refuse("out of memory");
    }
    sheet->line[sheet->lines++] = line;
    sheet->report.open = 1;
    if (sheet->columns->section && sheet_begins_section(sheet))
        memset(sheet->has, 0, sizeof sheet->has);
}

static void sheet_add_time(struct bench_sheet *sheet, const char *text)
{
    const struct bench_columns *c = sheet->columns;
    struct bench_line *line = sheet_last(sheet);
    struct bench_time time;
    int part = 0;
    const int way = line ? bench_time_read(text, c->ways, c->n_ways, &part, &time) : -1;
    if (way < 0 || part < 0 || part >= SHEET_PARTS)
        return;
    line->time[way][part] = time;
    sheet->has[way] = 1;
}

static void sheet_set_went(struct bench_sheet *sheet, const char *text)
{
    struct bench_line *line = sheet_last(sheet);
    const size_t length = strcspn(text, " ");
    const int way = line ? sheet_way(sheet->columns, text, length) : -1;
    if (way >= 0)
        snprintf(line->went[way], sizeof line->went[way], "%s", text + length + (text[length] == ' '));
}

static void sheet_set_own(struct bench_sheet *sheet, const char *word, const char *rest)
{
    const struct bench_columns *c = sheet->columns;
    struct bench_line *line = sheet_last(sheet);
    for (int i = 0; c->facts && c->facts[i]; i++) {
        if (strcmp(c->facts[i], word) == 0)
            snprintf(sheet->fact[i], sizeof sheet->fact[i], "%s", rest);
    }
    for (int i = 0; line && c->fields[i].key; i++) {
        if (c->fields[i].word && strcmp(c->fields[i].word, word) == 0)
            snprintf(line->text[i], sizeof line->text[i], "%s", rest);
    }
}

void bench_sheet_record(void *table, char *text)
{
    struct bench_sheet *sheet = table;
    char *rest = bench_report_take(&sheet->report, text);
    if (!rest || (sheet->columns->record && sheet->columns->record(sheet, text, rest)))
        return;
#define IS(name) (strcmp(text, name) == 0)
    if (IS("start"))
        sheet_print_head(sheet);
    else if (IS("way")) {
        const int way = sheet_way(sheet->columns, rest, strlen(rest));
        if (way >= 0)
            sheet->has[way] = 1;
    } else if (IS("row"))
        sheet_begin(sheet, rest);
    else if (IS("time"))
        sheet_add_time(sheet, rest);
    else if (IS("went"))
        sheet_set_went(sheet, rest);
    else if (IS("done") && sheet->report.open) {
        sheet_print_line(sheet);
        sheet->report.open = 0;
    } else
        sheet_set_own(sheet, text, rest);
#undef IS
}
