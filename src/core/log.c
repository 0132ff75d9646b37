#include "core/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/settings.h"

static atomic_int shown_rank = -1;

void tutti_log_rank(int rank)
{
    atomic_store(&shown_rank, rank);
}

/* One write a line, so that lines of several ranks do not mix. */
static void say(int level, const char *format, va_list arguments)
{
    if (tutti_settings()->log < level)
        return;
    char line[1024];
    int rank = atomic_load(&shown_rank);
    int n = rank < 0 ? snprintf(line, sizeof line, "tutti: ") : snprintf(line, sizeof line, "tutti[%d]: ", rank);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    size_t length = strlen(line);
    if (m < 0)
        return;
    line[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* there is nowhere else to say it */
}

#define LEVEL(name, level)                                                                                             \
    void tutti_##name(const char *format, ...)                                                                         \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        say(level, format, arguments);                                                                                 \
        va_end(arguments);                                                                                             \
    }
LEVEL(error, TUTTI_SET_LOG_ERROR)
LEVEL(warn, TUTTI_SET_LOG_WARN)
LEVEL(info, TUTTI_SET_LOG_INFO)
LEVEL(debug, TUTTI_SET_LOG_DEBUG)
