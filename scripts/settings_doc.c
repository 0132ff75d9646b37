/* Writes docs/settings.md from include/tutti/settings.def to standard output. */
#include <stdio.h>
#include <string.h>

/* A bar in a cell would end it. */
static void cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputs(" \\| ", stdout);
        else
            putchar(*text);
    }
}

static void row(const char *name, const char *standard, const char *allowed, const char *when, const char *text)
{
    printf("| `%s` | ", name);
    if (*standard)
        printf("`%s`", standard);
    else
        fputs("empty", stdout);
    fputs(" | ", stdout);
    cell(allowed);
    fputs(" | ", stdout);
    cell(text);
    fputs(" | ", stdout);
    cell(when);
    fputs(" |\n", stdout);
}

static void row_int(const char *name, long standard, long least, long most, const char *when, const char *text)
{
    char number[32], range[64];

    snprintf(number, sizeof(number), "%ld", standard);
    snprintf(range, sizeof(range), "%ld to %ld", least, most);
    row(name, number, range, when, text);
}

static void group(const char *title)
{
    printf("\n## %s\n\n| name | default | allowed | what it does | when to change it |\n|---|---|---|---|---|\n",
           title);
}

int main(void)
{
    puts("# Settings\n");
    puts("Made by `make docs` from `include/tutti/settings.def`; do not edit.\n");
    puts(
        "Settings are environment variables, read once, at the first use of the library. The defaults fit nearly every "
        "program:");
    puts("the last column says when to change one. `tutti info --settings` shows the values in force.\n");
    puts("The library reports a value that is not valid on standard error and uses the default. `tutti run` (exit "
         "status "
         "125),");
    puts(
        "`tutti bench` and `tutti tune` (2) refuse it. `tutti info` names each one and continues, with exit status 0.");
#define TUTTI_SETTING_GROUP(id, title) group(title);
#define TUTTI_SETTING_INT(id, field, name, standard, least, most, when, text)                                          \
    row_int(name, standard, least, most, when, text);
#define TUTTI_SETTING_WORD(id, field, name, standard, words, when, text) row(name, standard, words, when, text);
#define TUTTI_SETTING_TEXT(id, field, name, standard, when, text)        row(name, standard, "text", when, text);
#include "tutti/settings.def"
    puts("\n## Settings that are rules now\n\n| old name | rule to write in `TUTTI_RULES` |\n|---|---|");
#define TUTTI_SETTING_RULE(name, less, zero, rule) printf("| `%s` | `%s` |\n", name, rule);
#include "tutti/settings.def"
    puts("\n`#`: the bytes of the old value; of `TUTTI_MESSAGE_LEAST` and `TUTTI_AWARE_LEAST` one less.");
    puts("\n## Settings that are gone\n\n| old name | what to write |\n|---|---|");
#define TUTTI_SETTING_GONE(name, instead) printf("| `%s` | `%s` |\n", name, instead);
#include "tutti/settings.def"
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
