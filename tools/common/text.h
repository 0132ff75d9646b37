/* Shared by all parts of the command: words, sizes, processes. */
#ifndef TUTTI_TOOLS_TEXT_H
#define TUTTI_TOOLS_TEXT_H

#include <argp.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of refusals before anything starts. Those of `tutti run` are the same as for env, nice and timeout:
 * programs seldom end with them. */
enum { TOOL_WRONG_USE = 2, TOOL_RUN_FAILED = 125, TOOL_RUN_NO_PROGRAM = 126, TOOL_RUN_NOT_FOUND = 127 };
/* The status that tool_refuse() ends with. */
extern int tool_refusal;

/* Prints "tutti: text" on standard error and ends. */
void tool_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The same for a program that cannot be started: with `status` under `tutti run`. */
void tool_refuse_program(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* Ends the command if there is no memory. */
void *tool_alloc(size_t bytes);
char *tool_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The nearest of the n names to `word`; NULL if no name is near. */
const char *tool_nearest(const char *word, const char *const names[], int n);

/* The names, with commas; freed by the caller. */
char *tool_join(const char *const names[], int n);
/* The index of `word` among the names; otherwise refuses it as a value of `option`. */
int tool_one_of(const char *option, const char *word, const char *const names[], int n);

/* "64k" -> 65536; suffixes k, m, g. 1, or 0 if it is not a size. */
int tool_size(const char *text, size_t *out);
/* "64K", "1M", "24" */
const char *tool_size_text(size_t bytes, char out[24]);
/* A number from least to most; otherwise refuses it as a value of `option`. */
long tool_number(const char *option, const char *text, long least, long most);

/* A growing list of words that ends with NULL. The words are owned by the list. */
struct tool_words {
    char **word;
    int n, room;
};
void tool_words_add(struct tool_words *words, const char *word);
void tool_words_take(struct tool_words *words, char *word);
/* Splits as a shell does: blanks, '...', "...", backslash. 0, or -1 for an open quote. */
int tool_words_split(struct tool_words *words, const char *text);
void tool_words_free(struct tool_words *words);

/* Puts the folder of a program (a path) first in PATH: launchers may be scripts that start others by name. */
void tool_path_first(const char *program);
/* Runs argv, keeps at most size - 1 bytes of its output, and ends it after `seconds`. Returns its exit status, or -1
 * if it did not start or did not end. */
int tool_capture(char *const argv[], int seconds, char *out, size_t size);

/* Reads the options on a command line before argp does, and refuses an unknown long option with the nearest known
 * one. Stops at the first word that is not an option if `in_order`. */
void tool_check_options(const struct argp_option *options, int argc, char **argv, int in_order);

#endif
