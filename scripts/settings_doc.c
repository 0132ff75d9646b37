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

static void row(const char *name, const char *standard, const char *allowed, const char *text)
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
    fputs(" |\n", stdout);
}

static void row_int(const char *name, long standard, long least, long most, const char *text)
{
    char number[32], range[64];

    snprintf(number, sizeof(number), "%ld", standard);
    snprintf(range, sizeof(range), "%ld to %ld", least, most);
    row(name, number, range, text);
}

int main(void)
{
    puts("# Settings\n");
    puts("Made by `make docs` from `include/tutti/settings.def`; do not edit.\n");
    puts("Settings are environment variables, read once, at the first use of the library. An invalid value is "
         "reported");
    puts(
        "on standard error, and the default is used. `tutti run` (exit status 125), `tutti bench` and `tutti tune` (2) "
        "refuse it;");
    puts("`tutti info` names each invalid value and continues, with exit status 0. It shows the values in force.\n");
    puts("| name | default | allowed | |\n|---|---|---|---|");
#define TUTTI_SETTING_INT(field, name, standard, least, most, text) row_int(name, standard, least, most, text);
#define TUTTI_SETTING_WORD(field, name, standard, words, text)      row(name, standard, words, text);
#define TUTTI_SETTING_TEXT(field, name, standard, text)             row(name, standard, "text", text);
#include "tutti/settings.def"
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
