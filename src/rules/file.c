/* Rules measured on this machine, in a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "rules/file.h"

static const char head[] = "device:";

int tutti_rules_path(char *path, size_t size)
{
    const char *given = tutti_settings()->rules_file, *home = secure_getenv("HOME");
    int length;
    if (*given)
        length = snprintf(path, size, "%s", given);
    else if (home && *home)
        length = snprintf(path, size, "%s/.config/tutti/rules", home);
    else
        return TUTTI_ERR_UNAVAILABLE;
    return length > 0 && (size_t)length < size ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}

/* Without the number of the GPU and the slot that it is in: what is measured for one holds for all of its kind. */
int tutti_rules_device(char *text, size_t size)
{
    const struct tutti_device *device = tutti_device();
    char told[192];
    if (!device || !device->gpu.describe || device->gpu.describe(0, told, sizeof told) != TUTTI_OK)
        return TUTTI_ERR_UNAVAILABLE;
    char *slot = strstr(told, ", PCI");
    if (slot)
        *slot = '\0';
    for (char *at = told; *at; at++) { /* one line, without what begins a comment */
        if ((unsigned char)*at < ' ' || *at == '#')
            *at = ' ';
    }
    int length = snprintf(text, size, "%s, %s", device->name, told);
    return length > 0 && (size_t)length < size ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}

static int file_fail(char *wrong, size_t size, const char *what)
{
    if (size > 0)
        snprintf(wrong, size, "%s", what);
    return TUTTI_ERR_SETTING;
}

/* The whole file as text of at most `size` - 1 bytes; a missing file is an empty one. */
static int read_file(const char *path, char *text, size_t size, char *wrong, size_t wrong_size)
{
    size_t length = 0;
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? TUTTI_OK : file_fail(wrong, wrong_size, strerror(errno));
    ssize_t n = 1;
    while (n > 0 && length < size) {
        n = read(fd, text + length, size - length);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            length += (size_t)n;
    }
    int failed = n < 0 ? errno : 0;
    close(fd);
    if (failed)
        return file_fail(wrong, wrong_size, strerror(failed));
    if (length == size)
        return file_fail(wrong, wrong_size, "the file is larger than 64 KiB");
    text[length] = '\0';
    if (strlen(text) != length)
        return file_fail(wrong, wrong_size, "the file is no text");
    return TUTTI_OK;
}

/* Cuts comment and white space off the line; returns its first character that counts. */
static char *file_trim(char *line)
{
    line[strcspn(line, "#\r")] = '\0';
    char *end = line + strlen(line);
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return line + strspn(line, " \t");
}

/* Leaves in `text` the rules of `device` alone. */
static int file_keep(char *text, const char *device, char *wrong, size_t wrong_size)
{
    char *to = text, *next = text;
    int begun = 0, ours = 0;
    while (next) {
        char *line = next, *end = strchr(line, '\n');
        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        line = file_trim(line);
        if (*line == '\0')
            continue;
        if (strncmp(line, head, sizeof head - 1) == 0) {
            line += sizeof head - 1;
            ours = strcmp(line + strspn(line, " \t"), device) == 0;
            begun = 1;
            continue;
        }
        if (!begun)
            return file_fail(wrong, wrong_size, "it does not begin with a line 'device: ...'");
        if (!ours)
            continue;
        size_t length = strlen(line);
        memmove(to, line, length); /* never past what has been read */
        to += length;
        *to++ = '\n';
    }
    *to = '\0';
    return TUTTI_OK;
}

int tutti_rules_load(const char *path, const char *device, char *rules, size_t size, char *wrong, size_t wrong_size)
{
    char *text = malloc(TUTTI_RULES_BYTES + 2); /* a last line may lack its end */
    if (!text)
        return TUTTI_ERR_MEMORY;
    int status = read_file(path, text, TUTTI_RULES_BYTES, wrong, wrong_size);
    if (status == TUTTI_OK)
        status = file_keep(text, device, wrong, wrong_size);
    if (status == TUTTI_OK)
        status = tutti_grammar_check(text, wrong, wrong_size);
    if (status == TUTTI_OK && strlen(text) >= size)
        status = file_fail(wrong, wrong_size, "too many rules");
    if (status == TUTTI_OK)
        memcpy(rules, text, strlen(text) + 1);
    free(text);
    return status;
}
