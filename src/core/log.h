/* Messages on standard error, each one line: "tutti[rank]: text". Said once, where the fault is detected. */
#ifndef TUTTI_CORE_LOG_H
#define TUTTI_CORE_LOG_H

#include <stddef.h>

/* The rank shown in messages; -1 (before MPI_Init) shows none. */
void tutti_log_rank(int rank);
/* Whether this process is the one that tutti_warn_alike() means; until this is called each is. */
void tutti_log_first(int first);
/* From now on as with TUTTI_LOG=debug. */
void tutti_log_raise(void);
void tutti_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What all processes of a machine find alike, as a file of it: one of them warns, the others say it as an information.
 */
void tutti_warn_alike(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies `text` with control characters written as \xNN, so that a terminal only shows it: texts from the
 * environment, from files or from other processes may contain anything. Cut to `size` bytes, its end among them.
 * Returns `out`. */
char *tutti_plain(const char *text, char *out, size_t size);

#endif
