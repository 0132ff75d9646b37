#include "core/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/nearest.h"
#include "core/once.h"
#include "core/status.h"

extern char **environ;

enum row_kind { ROW_INT, ROW_WORD, ROW_TEXT };
enum row_group {
#define TUTTI_SETTING_GROUP(group, title) GROUP_##group,
#include "tutti/settings.def"
};
static const char *const group_titles[] = {
#define TUTTI_SETTING_GROUP(group, title) title,
#include "tutti/settings.def"
};

/* Old settings that are rules now. */
static const struct old {
    const char *name, *zero, *rule;
    long less;
} olds[] = {
#define TUTTI_SETTING_RULE(name, less, zero, rule) {name, zero, rule, less},
#include "tutti/settings.def"
};

/* Old settings in whose place another one is written. */
static const struct gone {
    const char *name, *instead;
} gones[] = {
#define TUTTI_SETTING_GONE(name, instead) {name, instead},
#include "tutti/settings.def"
};

static const struct row {
    enum row_kind kind;
    enum row_group group;
    const char *name, *standard, *words, *when, *text;
    long least, most;
    size_t offset;
} rows[] = {
#define TUTTI_SETTING_INT(group, field, name, standard, least, most, when, text)                                       \
    {ROW_INT, GROUP_##group, name,  #standard, #least " to " #most,                                                    \
     when,    text,          least, most,      offsetof(struct tutti_settings, field)},
#define TUTTI_SETTING_WORD(group, field, name, standard, words, when, text)                                            \
    {ROW_WORD, GROUP_##group, name, standard, words, when, text, 0, 0, offsetof(struct tutti_settings, field)},
#define TUTTI_SETTING_TEXT(group, field, name, standard, when, text)                                                   \
    {ROW_TEXT, GROUP_##group, name, standard, "text", when, text, 0, 0, offsetof(struct tutti_settings, field)},
#include "tutti/settings.def"
};
enum {
    ROWS = sizeof rows / sizeof rows[0],
    SHOWN = 200,              /* of what the environment holds */
    OWN = sizeof "TUTTI_" - 1 /* before every name: does not help to find the intended one */
};

/* Variables of the project that are not settings of the library (tests, build). */
static const char *const others[] = {"TUTTI_TEST", "TUTTI_BENCH", "TUTTI_INTERNAL"};

/* Position of `value` in "a|b|c", or -1. */
static int word_position(const char *words, const char *value)
{
    size_t length = strlen(value);
    int position = 0;
    for (const char *at = words;; position++) {
        const char *end = strchr(at, '|');
        size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == length && strncmp(at, value, n) == 0)
            return position;
        if (!end)
            return -1;
        at = end + 1;
    }
}

static int row_set(const struct row *row, struct tutti_settings *out, const char *value)
{
    char *field = (char *)out + row->offset;
    if (row->kind == ROW_TEXT) {
        *(const char **)(void *)field = value;
        return TUTTI_OK;
    }
    if (row->kind == ROW_WORD) {
        int position = word_position(row->words, value);
        if (position < 0)
            return TUTTI_ERR_SETTING;
        *(int *)(void *)field = position;
        return TUTTI_OK;
    }
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < row->least || number > row->most)
        return TUTTI_ERR_SETTING;
    *(long *)(void *)field = number;
    return TUTTI_OK;
}

struct report {
    char *at;
    size_t left;
    int wrong;
};

static void settings_complain(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void settings_complain(struct report *report, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = report->left ? vsnprintf(report->at, report->left, format, arguments) : 0;
    va_end(arguments);
    report->wrong = 1;
    if (n < 0)
        return;
    size_t used = (size_t)n < report->left ? (size_t)n : report->left;
    report->at += used;
    report->left -= used;
}

/* 1 where `entry`, NAME=value, is an old setting: the rule that stands for this value is written into the report. */
static int check_old(struct report *report, const char *entry, size_t length)
{
    size_t i = 0;
    while (i < sizeof olds / sizeof olds[0] &&
           (strlen(olds[i].name) != length || strncmp(entry, olds[i].name, length) != 0))
        i++;
    if (i == sizeof olds / sizeof olds[0])
        return 0;
    const char *value = entry[length] ? entry + length + 1 : "";
    char *end, number[24] = "N", rule[SHOWN];
    const long bytes = strtol(value, &end, 10);
    const int valid = end != value && *end == '\0' && bytes >= 0;
    const char *form = valid && bytes == 0 && olds[i].zero[0] ? olds[i].zero : olds[i].rule;
    if (valid)
        snprintf(number, sizeof number, "%ld", bytes > olds[i].less ? bytes - olds[i].less : 0);
    size_t used = 0;
    for (rule[0] = '\0'; *form && used < sizeof rule - 1; form++)
        used += (size_t)snprintf(rule + used, sizeof rule - used, *form == '#' ? "%s" : "%.1s",
                                 *form == '#' ? number : form);
    settings_complain(report, "%s is a rule now, not a setting: write TUTTI_RULES=\"%s\"\n", olds[i].name, rule);
    return 1;
}

/* The same with another setting in its place. */
static int check_gone(struct report *report, const char *entry, size_t length)
{
    for (size_t i = 0; i < sizeof gones / sizeof gones[0]; i++) {
        if (strlen(gones[i].name) == length && strncmp(entry, gones[i].name, length) == 0) {
            settings_complain(report, "%s is gone: write %s\n", gones[i].name, gones[i].instead);
            return 1;
        }
    }
    return 0;
}

static void check_name(struct report *report, const char *entry)
{
    const char *equals = strchr(entry, '=');
    size_t length = equals ? (size_t)(equals - entry) : strlen(entry);
    if (check_old(report, entry, length) || check_gone(report, entry, length))
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strncmp(entry, others[i], strlen(others[i])) == 0)
            return;
    }
    const char *names[ROWS];
    for (int i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length && strncmp(entry, rows[i].name, length) == 0)
            return;
        names[i] = rows[i].name + OWN;
    }
    int nearest = length > OWN ? tutti_nearest(entry + OWN, length - OWN, names, ROWS) : -1;
    char name[SHOWN], shown[SHOWN];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), entry);
    tutti_plain(name, shown, sizeof shown);
    if (nearest >= 0)
        settings_complain(report, "%s is not a setting: did you mean %s?\n", shown, rows[nearest].name);
    else
        settings_complain(report, "%s is not a setting: `tutti info` lists them\n", shown);
}

int tutti_settings_read(struct tutti_settings *out, char *wrong, size_t size)
{
    struct report report = {wrong, size, 0};
    if (size > 0)
        wrong[0] = '\0';
    for (int i = 0; i < ROWS; i++) {
        row_set(&rows[i], out, rows[i].standard);
        const char *value = secure_getenv(rows[i].name);
        char shown[SHOWN];
        if (value && *value != '\0' && row_set(&rows[i], out, value) != TUTTI_OK)
            settings_complain(&report, "%s=%s is not valid: allowed is %s, the default is %s\n", rows[i].name,
                              tutti_plain(value, shown, sizeof shown), rows[i].words, rows[i].standard);
    }
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, "TUTTI_", 6) == 0)
            check_name(&report, *entry);
    }
    return report.wrong ? TUTTI_ERR_SETTING : TUTTI_OK;
}

static struct tutti_settings settings;
static struct tutti_once settings_once = TUTTI_ONCE_INIT;

static void read_once(void)
{
    char wrong[2048];
    if (tutti_settings_read(&settings, wrong, sizeof wrong) == TUTTI_OK)
        return;
    if (settings.log < TUTTI_SET_LOG_WARN)
        return;
    for (char *line = strtok(wrong, "\n"); line; line = strtok(NULL, "\n"))
        fprintf(stderr, "tutti: %s\n", line);
}

const struct tutti_settings *tutti_settings(void)
{
    tutti_once(&settings_once, read_once);
    return &settings;
}

int tutti_settings_wait(int policy)
{
    tutti_settings();
    return __atomic_exchange_n(&settings.wait, policy, __ATOMIC_RELAXED);
}

int tutti_settings_row(int index, struct tutti_setting_row *out)
{
    if (index < 0 || index >= ROWS)
        return 0;
    const struct row *row = &rows[index];
    *out = (struct tutti_setting_row){.group = group_titles[row->group],
                                      .name = row->name,
                                      .standard = row->standard,
                                      .allowed = row->words,
                                      .when = row->when,
                                      .text = row->text};
    const char *field = (const char *)tutti_settings() + row->offset;
    if (row->kind == ROW_INT) {
        snprintf(out->value, sizeof out->value, "%ld", *(const long *)(const void *)field);
    } else if (row->kind == ROW_TEXT) {
        snprintf(out->value, sizeof out->value, "%s", *(const char *const *)(const void *)field);
    } else {
        const char *at = row->words;
        for (int skip = *(const int *)(const void *)field; skip > 0; skip--)
            at = strchr(at, '|') + 1;
        snprintf(out->value, sizeof out->value, "%.*s", (int)strcspn(at, "|"), at);
    }
    out->set = strcmp(out->value, row->standard) != 0;
    return 1;
}
