/* Messages on standard error, each one line: "tutti[rank]: text". Said once, where the fault is detected. */
#ifndef TUTTI_CORE_LOG_H
#define TUTTI_CORE_LOG_H

/* The rank shown in messages; -1 (before MPI_Init) shows none. */
void tutti_log_rank(int rank);
void tutti_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tutti_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
