#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "shmem/local/openshmem.h"
#include "tutti/shmem.h"
#include "tutti/shmem_begin.h"
#include "tutti/tutti.h"

static int named, loading; /* kept after the address space ends: the program does not change */
static int host_heaps;
static int64_t asked_mib; /* by tutti_shmem_heap_from(); 0: none */

void tutti_shmem_openshmem(void)
{
    named = loading = 1;
}

void tutti_shmem_named(void)
{
    named = 1;
}

int tutti_shmem_is_named(void)
{
    return named;
}

int tutti_shmem_is_loading(void)
{
    return loading;
}

char *tutti_shmem_own_names(char *text)
{
    char *to = text;
    if (!tutti_shmem_is_named())
        return text;
    for (const char *at = text; *at; at++) {
        const int begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!begins || (strncmp(at, "tshmem_", 7) != 0 && strncmp(at, "TSHMEM_", 7) != 0))
            *to++ = *at;
    }
    *to = 0;
    return text;
}

/* ---- SHMEM_SYMMETRIC_SIZE ---- */

/* Reads digits; those past a point count less and less. Returns the end. strtod() is not used: its point depends on
 * the locale, and it accepts other forms of numbers. */
static const char *read_number(const char *at, long double *number, int *digits)
{
    long double place = 1;
    *number = 0;
    *digits = 0;
    for (; *at >= '0' && *at <= '9'; at++, ++*digits)
        *number = *number * 10 + (*at - '0');
    if (*at != '.')
        return at;
    for (at++; *at >= '0' && *at <= '9'; at++, ++*digits)
        *number += (*at - '0') * (place /= 10);
    return at;
}

/* MiB of a size in the standard's notation, at least one; -1: not a size. Characters after a unit are ignored. */
static int64_t read_mib(const char *text)
{
    static const char units[] = "kmgt";
    static const long double most = (long double)(1 << 20) * (1 << 20); /* bytes, as TUTTI_SHMEM_HEAP_MB */
    long double bytes;
    int digits;
    const char *end = read_number(text, &bytes, &digits);
    const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
    if (digits == 0 || (*end && !unit))
        return -1;
    for (int i = 0; unit && i <= unit - units; i++)
        bytes *= 1024;
    if (bytes > most)
        return -1;
    const int64_t whole = (int64_t)(bytes / (1 << 20)), mib = whole + ((long double)whole * (1 << 20) < bytes);
    return mib < 1 ? 1 : mib;
}

/* The variable with that name, or of its name before version 1.4 if it is not set; empty: neither is set. */
static const char *setting_either(const char *setting, const char *old)
{
    const char *value = *setting ? setting : secure_getenv(old);
    return value ? value : "";
}

const char *tutti_shmem_heap_text(void)
{
    return setting_either(tutti_settings()->openshmem_size, "SMA_SYMMETRIC_SIZE");
}

int64_t tutti_shmem_heap_mib(void)
{
    const char *own = secure_getenv("TUTTI_SHMEM_HEAP_MB"), *text = tutti_shmem_heap_text();
    if (asked_mib > 0 && !(own && *own))
        return asked_mib;
    if (!named || !*text || (own && *own))
        return tutti_settings()->shmem_heap_mb;
    return read_mib(text);
}

void tutti_shmem_heap_on_host(void)
{
    host_heaps = 1;
}

int tutti_shmem_host_heaps(void)
{
    return host_heaps;
}

int tutti_shmem_heap_from(const char *variable)
{
    const char *text = getenv(variable);
    const int64_t mib = text && *text ? read_mib(text) : 0;
    if (mib < 0) {
        tutti_error("tshmem_init: %s=%s is no size of a heap: give bytes, or a number and K, M, G or T, up to 1T",
                    variable, text);
        return TUTTI_ERR_SETTING;
    }
    asked_mib = mib;
    return TUTTI_OK;
}

/* ---- SHMEM_VERSION, SHMEM_INFO, SHMEM_DEBUG ---- */

static void print_settings(void)
{
    struct tutti_setting_row row;
    for (int i = 0; tutti_settings_row(i, &row); i++) {
        if (!strstr(row.name, "SHMEM_"))
            continue;
        char plain[sizeof row.value];
        fprintf(stderr, "%s=%s (%s; otherwise %s): %s\n", row.name, tutti_plain(row.value, plain, sizeof plain),
                row.allowed, *row.standard ? row.standard : "empty", row.text);
    }
}

void tutti_shmem_greet(int first)
{
    const struct tutti_settings *settings = tutti_settings();
    if (!named)
        return;
    if (*setting_either(settings->openshmem_debug, "SMA_DEBUG"))
        tutti_log_raise();
    if (first && *setting_either(settings->openshmem_version, "SMA_VERSION"))
        fprintf(stderr, "%s %s, OpenSHMEM %d.%d\n", TSHMEM_VENDOR_STRING, tutti_version(), (int)TSHMEM_MAJOR_VERSION,
                (int)TSHMEM_MINOR_VERSION);
    if (first && *setting_either(settings->openshmem_info, "SMA_INFO"))
        print_settings();
}
