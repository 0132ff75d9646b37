#include "core/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/settings.h"

static atomic_int shown_rank = -1, is_first = 1, raised;

void tutti_log_rank(int rank)
{
    atomic_store(&shown_rank, rank);
}

void tutti_log_first(int first)
{
    atomic_store(&is_first, first);
}

void tutti_log_raise(void)
{
    atomic_store(&raised, TUTTI_SET_LOG_DEBUG);
}

/* Bytes from 0x80 to 0x9f are control characters by themselves and after 0xc2, not inside other letters of UTF-8. */
static int log_controls(unsigned char byte, unsigned char before)
{
    return byte < 0x20 || byte == 0x7f || (byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2));
}

char *tutti_plain(const char *text, char *out, size_t size)
{
    size_t used = 0;
    unsigned char before = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at && used + 5 <= size; before = *at++) {
        if (log_controls(*at, before))
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", *at);
        else
            out[used++] = (char)*at;
    }
    if (size > 0)
        out[used] = '\0';
    return out;
}

/* One write a line, so that lines of several ranks do not mix. */
static void log_say(int level, const char *format, va_list arguments)
{
    if (tutti_settings()->log < level && atomic_load(&raised) < level)
        return;
    char line[1024], plain[sizeof line];
    int rank = atomic_load(&shown_rank);
    int n = rank < 0 ? snprintf(line, sizeof line, "tutti: ") : snprintf(line, sizeof line, "tutti[%d]: ", rank);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    if (m < 0)
        return;
    size_t length = strlen(tutti_plain(line, plain, sizeof plain - 1));
    plain[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, plain, length);
    (void)written; /* there is nowhere else to say it */
}

#define LEVEL(name, level)                                                                                             \
    void tutti_##name(const char *format, ...)                                                                         \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        log_say(level, format, arguments);                                                                             \
        va_end(arguments);                                                                                             \
    }
LEVEL(error, TUTTI_SET_LOG_ERROR)
LEVEL(warn, TUTTI_SET_LOG_WARN)
LEVEL(info, TUTTI_SET_LOG_INFO)
LEVEL(debug, TUTTI_SET_LOG_DEBUG)
LEVEL(warn_alike, atomic_load(&is_first) ? TUTTI_SET_LOG_WARN : TUTTI_SET_LOG_INFO)
