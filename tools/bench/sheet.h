/* The table of a benchmark by a description of its columns: reads the records of the ranks, prints rows, and writes
 * JSON and plots. The description says what rows contain; this file knows no benchmark. */
#ifndef TUTTI_TOOLS_BENCH_SHEET_H
#define TUTTI_TOOLS_BENCH_SHEET_H

#include "tools/bench/bench.h"

enum { SHEET_FIELDS = 8, SHEET_WAYS = 16, SHEET_PARTS = 6, SHEET_TEXT = 112, SHEET_FACTS = 4 };

/* A field that identifies a row: a number or a word of the record `row`, which has the numbers first, each in the
 * order of the fields; or the text of a record of its own. */
struct bench_field {
    const char *key;   /* in JSON */
    const char *title; /* of the column; NULL: it is not shown */
    int width;         /* negative: flush left */
    int text;          /* 1; 0: a whole number */
    int positive;      /* of a number: 0 is shown as - */
    int own;           /* 1: between the library's times and the ways; 2: behind the ways */
    const char *word;  /* of its own record; NULL: it is in the row's */
};

struct bench_line {
    long long number[SHEET_FIELDS];
    char text[SHEET_FIELDS][SHEET_TEXT];
    struct bench_time time[SHEET_WAYS][SHEET_PARTS];
    char went[SHEET_WAYS][40]; /* records "went WAY TEXT" */
};

struct bench_sheet;
struct json_t;
/* A figure computed from the times of a way, printed beside its median or in its place. */
struct bench_shown {
    const char *title, *key; /* of the column, in JSON */
    double (*of)(const struct bench_sheet *sheet, const struct bench_line *line, int way);
    int peers; /* 1: the other ways show this one, in place of their median */
};

/* Columns of the library's own times. */
enum { SHEET_AVERAGE = 1, SHEET_MEDIAN = 2, SHEET_MIN = 4, SHEET_MAX = 8, SHEET_ITERATIONS = 16 };

struct bench_columns {
    const char *const *ways; /* the first one is the library's own */
    int n_ways;
    const struct bench_field *fields; /* the last one has no key */
    int size;                         /* the field of bytes, for plots */
    unsigned times;                   /* mask of SHEET_... */
    const struct bench_shown *shown;  /* the last one has no title; NULL: none */
    /* 1 if rows like this one have the figure shown[i]. NULL: all rows have all. */
    int (*shows)(const struct bench_line *line, int i);
    const char *const *parts; /* names of the second and the third time of a way, in JSON; NULL: one alone */
    const char *const *facts; /* words of records about all rows, and their names in JSON; NULL at the end */
    int best;                 /* 1: the best of the other ways has a column; 2: if there is another way */
    int went;                 /* width of the text behind a way's time, if it has such a record */
    int marks;                /* 1: rows for which `behind` holds are marked */
    /* The way whose time another one's is compared with; NULL: the first. */
    int (*base)(int way);
    int (*behind)(const struct bench_sheet *sheet, const struct bench_line *line);
    /* The call's name, for heads and plots; freed by the caller. */
    char *(*title)(void);
    const char *members; /* the name of the ranks in the head, and further facts of the call; NULL: ranks */
    const char *checked; /* when data are validated; NULL: in the timed loop */
    /* Rows whose first field is alike follow each other, below a head of their own with this text. NULL: all rows have
     * one head. */
    const char *(*section)(const struct bench_line *line);
    /* Prints lines of comments below those of the head. */
    void (*about)(const struct bench_sheet *sheet);
    /* Adds numbers of the options to the JSON: key by key, until it returns NULL. */
    const char *(*option)(int i, double *value);
    /* The same for options that are words; an empty one is null. */
    const char *(*choice)(int i, const char **text);
    /* Adds to the JSON what else there is about all rows. */
    void (*json)(const struct bench_sheet *sheet, struct json_t *all);
    /* Handles a record of the benchmark's own; 0: it is another. */
    int (*record)(struct bench_sheet *sheet, const char *word, const char *rest);
    /* Its plot, if it is not a line for each way over bytes. 0, or 1 after an error message. */
    int (*plot)(const void *sheet);
};

struct bench_sheet {
    const struct bench_columns *columns;
    const struct bench_options *options;
    const char *name; /* of the benchmark */
    struct bench_report report;
    char fact[SHEET_FACTS][96];
    int has[SHEET_WAYS]; /* 1: a row (of the last section) has it, or a record has announced the way */
    struct bench_line *line;
    int lines, room;
};
/* Handles a record of the ranks; prints rows that are complete. */
void bench_sheet_record(void *table, char *text);
/* The best of the other ways of a row, or -1; *ratio is its time divided by the library's. */
int bench_sheet_best(const struct bench_sheet *sheet, const struct bench_line *line, double *ratio);
/* 1 if the line has the figure, one of columns->shown. */
int bench_sheet_shows(const struct bench_columns *columns, const struct bench_shown *shown,
                      const struct bench_line *line);
/* GB/s of `messages` times the bytes of the field `size`, by the median of a way's time number `time`; 0: unknown. */
double bench_sheet_gb(const struct bench_sheet *sheet, const struct bench_line *line, int way, int time,
                      double messages);
/* A way's time divided by the one that it is compared with. */
double bench_sheet_ratio(const struct bench_sheet *sheet, const struct bench_line *line, int way);
int bench_sheet_json(const void *table);
int bench_sheet_plot(const void *table);

#endif
