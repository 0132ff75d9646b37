/* Messages on standard error, each one line: "tutti[rank]: text". Said once, where the fault is detected. */
#ifndef TUTTI_CORE_LOG_H
#define TUTTI_CORE_LOG_H

#include <stddef.h>

/* The rank shown in messages; -1 (before MPI_Init) shows none. */
void tutti_log_rank(int rank);
void tutti_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies `text` with control characters told as \xNN, so that a terminal only shows it: what comes from the
 * environment, from files or from other processes may hold anything. Cut to `size` bytes, its end among them. Returns
 * `out`. */
char *tutti_plain(const char *text, char *out, size_t size);

#endif
