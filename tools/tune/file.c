/* The file of rules: one entry a device, each begun by its line "device: ...". */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "coll/coll.h"
#include "core/status.h"
#include "tools/tune/tune.h"

static const char head[] = "device:";

/* Makes the missing folders above the file. */
static void make_folders(const char *path)
{
    char *copy = tool_print("%s", path);
    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(copy, 0777); /* if this fails, making the file fails too and reports it */
        *at = '/';
    }
    free(copy);
}

/* Opens a new file beside `path`, whose name goes into `name`. */
static int open_beside(const char *path, char *name, size_t size)
{
    if (snprintf(name, size, "%s.XXXXXX", path) >= (int)size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkostemp(name, O_CLOEXEC);
}

static void find_path(struct tune_run *run)
{
    const char *output = run->options->output;
    if (output) {
        if (snprintf(run->path, sizeof run->path, "%s", output) >= (int)sizeof run->path)
            tool_refuse("--output: the path is too long");
    } else if (tutti_rules_path(run->path, sizeof run->path) != TUTTI_OK) {
        tool_refuse("there is no home folder to write rules to: set TUTTI_RULES_FILE or use --output FILE");
    }
    char *real = realpath(run->path, NULL); /* a link stays one */
    if (real && strlen(real) < sizeof run->path)
        snprintf(run->path, sizeof run->path, "%s", real);
    free(real);
}

void tune_file_check(struct tune_run *run)
{
    static char rules[TUTTI_RULES_BYTES];
    char device[256], wrong[320] = "", name[4200];
    struct stat is;
    find_path(run);
    if (stat(run->path, &is) == 0 && !S_ISREG(is.st_mode))
        tool_refuse("%s is no file: rules cannot be written to it; use --output FILE", run->path);
    if (tutti_rules_device(device, sizeof device) == TUTTI_OK &&
        tutti_rules_load(run->path, device, rules, sizeof rules, wrong, sizeof wrong) != TUTTI_OK)
        tool_refuse("%s: %s; mend or remove it, or use --output FILE", run->path, wrong);
    if (run->options->dry_run)
        return;
    if (!run->options->output)
        make_folders(run->path);
    int fd = open_beside(run->path, name, sizeof name);
    if (fd < 0)
        tool_refuse("%s cannot be written: %s; use --output FILE, or --dry-run to print the rules", run->path,
                    strerror(errno));
    close(fd);
    unlink(name);
}

/* The rules of one section in the file, which may be spread over several places: " 0-8k@ll ...". */
static char *rules_of(const char *rules, const char *section)
{
    char *out = tool_alloc(strlen(rules) + 1), *copy = tool_print("%s", rules), *rest = copy, *word;
    int inside = 0;
    while ((word = strsep(&rest, " \t\n,;")) != NULL) {
        char *colon = strchr(word, ':');
        if (colon) {
            *colon = '\0';
            inside = strcmp(word, section) == 0;
            word = colon + 1;
        }
        if (inside && *word)
            strcat(strcat(out, " "), word);
    }
    free(copy);
    return out;
}

static void text_append(char **text, const char *more)
{
    char *all = tool_print("%s%s", *text, more);
    free(*text);
    *text = all;
}

char *tune_file_entry(const struct tune_run *run)
{
    static char rules[TUTTI_RULES_BYTES];
    static const char *const orders[] = {"blocking calls", "stream", "graph"};
    const struct bench_options *start = &run->options->start;
    char wrong[320], day[32];
    time_t now = time(NULL);
    struct tm utc;
    rules[0] = '\0';
    tutti_rules_load(run->path, run->entry, rules, sizeof rules, wrong, sizeof wrong); /* handled before */
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &utc));
    char *out = tool_print("%s %s\n# tutti tune, %s: %d ranks, %s, %s%s\n", head, run->entry, day, start->ranks,
                           tool_family_title(run->place->mpi->family), orders[start->order],
                           run->interrupted > 0 ? ", interrupted" : "");
    for (int s = 0; s < 2 * TUNE_SECTIONS; s++) {
        int enqueue = s >= TUNE_SECTIONS, section = s % TUNE_SECTIONS;
        if (enqueue && section >= TUNE_REDUCTIONS)
            continue;
        char *name = tool_print("%s%s", tune_sections[section], enqueue ? "_enqueue" : "");
        const char *made = run->rules[section];
        if (enqueue == (start->order != BENCH_HOST) && *made) {
            const char *text = strchr(made, ':') + 1;
            char *line = tool_print("%s:%s\n", name, text);
            if (text[strspn(text, " ")])
                text_append(&out, line);
            free(line);
        } else {
            char *kept = rules_of(rules, name), *line = tool_print("%s:%s\n", name, kept);
            if (*kept)
                text_append(&out, line);
            free(line);
            free(kept);
        }
        free(name);
    }
    return out;
}

/* 1 if the line is "device: <entry>". */
static int line_begins(const char *line, size_t length, const char *entry, int *any)
{
    size_t at = strspn(line, " \t");
    *any = length > at && strncmp(line + at, head, sizeof head - 1) == 0;
    if (!*any)
        return 0;
    at += sizeof head - 1;
    at += strspn(line + at, " \t");
    size_t end = at + strcspn(line + at, "#\r\n");
    while (end > at && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        end--;
    return end - at == strlen(entry) && strncmp(line + at, entry, end - at) == 0;
}

/* The contents of the file without the entries of this device. */
static char *file_others(const char *path, const char *entry)
{
    char *text = tool_alloc(TUTTI_RULES_BYTES + 1), *out = text;
    FILE *file = fopen(path, "re");
    if (!file)
        return text;
    char *line = NULL;
    size_t room = 0;
    int ours = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
        int any, same = line_begins(line, (size_t)n, entry, &any);
        if (any)
            ours = same;
        if (ours || (size_t)n + 1 > (size_t)(text + TUTTI_RULES_BYTES - out))
            continue;
        memcpy(out, line, (size_t)n);
        out += n;
        if (out[-1] != '\n')
            *out++ = '\n';
    }
    free(line);
    fclose(file);
    return text;
}

static int write_all(int fd, const char *text)
{
    for (size_t n = strlen(text); n > 0;) {
        ssize_t put = write(fd, text, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        text += put;
        n -= (size_t)put;
    }
    return fsync(fd);
}

int tune_file_write(const struct tune_run *run, const char *entry)
{
    char name[4200] = "", *before = file_others(run->path, run->entry), *all;
    struct stat is;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stat(run->path, &is) == 0 ? is.st_mode & 0777 : 0666 & ~mask;
    all = tool_print("%s%s%s", before,
                     *before ? "" : "# Rules of Tutti for the devices that it was tuned on; see docs/tuning.md.\n",
                     entry);
    free(before);
    int large = strlen(all) >= TUTTI_RULES_BYTES, fd = large ? -1 : open_beside(run->path, name, sizeof name);
    errno = large ? EFBIG : errno;
    int failed = fd < 0 || write_all(fd, all) != 0 || fchmod(fd, mode) != 0;
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && !failed) {
        failed = 1;
        why = errno;
    }
    if (!failed && rename(name, run->path) != 0) {
        failed = 1;
        why = errno;
    }
    if (failed) {
        if (fd >= 0)
            unlink(name);
        fprintf(stderr, "tutti: %s could not be written: %s; these are the rules:\n%s", run->path, strerror(why),
                entry);
    }
    free(all);
    return failed;
}
