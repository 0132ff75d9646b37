#include "tools/common/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/nearest.h"
#include "core/size.h"

int tool_refusal = TOOL_WRONG_USE;

static void text_print(const char *format, va_list arguments)
{
    fflush(stdout);
    fputs("tutti: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void tool_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_print(format, arguments);
    va_end(arguments);
    exit(tool_refusal);
}

void tool_refuse_program(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_print(format, arguments);
    va_end(arguments);
    exit(tool_refusal == TOOL_RUN_FAILED ? status : tool_refusal);
}

static void no_memory(void)
{
    fputs("tutti: out of memory\n", stderr);
    exit(tool_refusal == TOOL_RUN_FAILED ? TOOL_RUN_FAILED : 1);
}

void *tool_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        no_memory();
    return memory;
}

char *tool_print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        no_memory();
    va_end(arguments);
    return text;
}

const char *tool_nearest(const char *word, const char *const names[], int n)
{
    int nearest = tutti_nearest(word, strlen(word), names, n);
    return nearest < 0 ? NULL : names[nearest];
}

char *tool_join(const char *const names[], int n)
{
    size_t room = 1;
    for (int i = 0; i < n; i++)
        room += strlen(names[i]) + 2;
    char *all = tool_alloc(room);
    all[0] = '\0';
    for (int i = 0; i < n; i++)
        strcat(strcat(all, i ? ", " : ""), names[i]);
    return all;
}

int tool_one_of(const char *option, const char *word, const char *const names[], int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0)
            return i;
    }
    const char *near = tool_nearest(word, names, n);
    if (near)
        tool_refuse("%s %s is not known: did you mean %s?", option, word, near);
    tool_refuse("%s %s is not known: there are %s", option, word, tool_join(names, n));
}

int tool_size(const char *text, size_t *out)
{
    size_t bytes;
    if (!tutti_size_read(&text, &bytes) || *text != '\0' || bytes > SIZE_MAX >> 1)
        return 0;
    *out = bytes;
    return 1;
}

const char *tool_size_text(size_t bytes, char out[24])
{
    static const char suffix[] = {'G', 'M', 'K'};
    for (int i = 0; i < 3; i++) {
        size_t unit = (size_t)1 << (30 - 10 * i);
        if (bytes >= unit && bytes % unit == 0) {
            snprintf(out, 24, "%zu%c", bytes / unit, suffix[i]);
            return out;
        }
    }
    snprintf(out, 24, "%zu", bytes);
    return out;
}

long tool_number(const char *option, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || value < least || value > most)
        tool_refuse("%s %s is not valid: a number from %ld to %ld is", option, text, least, most);
    return value;
}

void tool_words_take(struct tool_words *words, char *word)
{
    if (words->n + 2 > words->room) {
        words->room = words->room ? 2 * words->room : 16;
        words->word = realloc(words->word, (size_t)words->room * sizeof *words->word);
        if (!words->word)
            no_memory();
    }
    words->word[words->n++] = word;
    words->word[words->n] = NULL;
}

void tool_words_add(struct tool_words *words, const char *word)
{
    tool_words_take(words, tool_print("%s", word));
}

int tool_words_split(struct tool_words *words, const char *text)
{
    char *word = tool_alloc(strlen(text) + 1);
    size_t n = 0;
    int open = 0, any = 0;
    for (; *text; text++) {
        if (open && *text == open) {
            open = 0;
        } else if (!open && (*text == '\'' || *text == '"')) {
            open = *text;
            any = 1;
        } else if (*text == '\\' && open != '\'' && text[1]) {
            word[n++] = *++text;
            any = 1;
        } else if (!open && isspace((unsigned char)*text)) {
            word[n] = '\0';
            if (any)
                tool_words_add(words, word);
            n = 0;
            any = 0;
        } else {
            word[n++] = *text;
            any = 1;
        }
    }
    word[n] = '\0';
    if (any && !open)
        tool_words_add(words, word);
    free(word);
    return open ? -1 : 0;
}

void tool_words_free(struct tool_words *words)
{
    for (int i = 0; i < words->n; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct tool_words){.word = NULL};
}

void tool_path_first(const char *program)
{
    size_t n = strrchr(program, '/') ? (size_t)(strrchr(program, '/') - program) : 0;
    const char *path = getenv("PATH");
    if (n == 0 || (path && strncmp(path, program, n) == 0 && (path[n] == ':' || path[n] == '\0')))
        return;
    char *all = tool_print("%.*s%s%s", (int)n, program, path ? ":" : "", path ? path : "");
    setenv("PATH", all, 1);
    free(all);
}

static pid_t program_start(char *const argv[], int output)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    setpgid(0, 0); /* so that all processes that it starts can be ended with it */
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    unsetenv("LD_PRELOAD");
    if (argv[0][0] == '/')
        tool_path_first(argv[0]);
    execvp(argv[0], argv);
    _exit(127);
}

int tool_capture(char *const argv[], int seconds, char *out, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = program_start(argv, ends[1]);
    close(ends[1]);
    size_t n = 0;
    int late = child < 0;
    uint64_t deadline = tutti_now_ns() + (uint64_t)seconds * 1000000000u;
    while (!late) {
        uint64_t now = tutti_now_ns();
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        int ready = now < deadline ? poll(&wait, 1, (int)((deadline - now) / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        late = ready <= 0;
        char piece[512];
        ssize_t got = late ? 0 : read(ends[0], piece, sizeof piece);
        if (got <= 0)
            break;
        size_t take = n + (size_t)got < size ? (size_t)got : size - 1 - n;
        memcpy(out + n, piece, take);
        n += take;
    }
    close(ends[0]);
    out[n] = '\0';
    if (child < 0)
        return -1;
    int status = 0;
    if (late)
        kill(-child, SIGKILL);
    if (waitpid(child, &status, 0) != child || late || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static const struct argp_option *long_option(const struct argp_option *options, const char *name, size_t length)
{
    for (const struct argp_option *o = options; o->name || o->key || o->doc; o++) {
        if (o->name && strncmp(o->name, name, length) == 0)
            return o;
    }
    return NULL;
}

static const struct argp_option *short_option(const struct argp_option *options, int key)
{
    for (const struct argp_option *o = options; o->name || o->key || o->doc; o++) {
        if (o->key == key)
            return o;
    }
    return NULL;
}

static void refuse_option(const struct argp_option *options, const char *name, int length)
{
    const char *names[64];
    int n = 0;
    for (const struct argp_option *o = options; (o->name || o->key || o->doc) && n < 64; o++) {
        if (o->name && !(o->flags & OPTION_HIDDEN))
            names[n++] = o->name;
    }
    char *word = tool_print("%.*s", length, name);
    const char *near = tool_nearest(word, names, n);
    if (near)
        tool_refuse("there is no option --%s: did you mean --%s?", word, near);
    tool_refuse("there is no option --%s: --help lists them", word);
}

void tool_check_options(const struct argp_option *options, int argc, char **argv, int in_order)
{
    static const char *const own[] = {"help", "usage", "version"};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            if (in_order)
                return;
            continue;
        }
        const struct argp_option *known;
        int takes_next;
        if (word[1] == '-') {
            if (word[2] == '\0')
                return;
            size_t length = strcspn(word + 2, "=");
            known = long_option(options, word + 2, length);
            int argps = 0;
            for (int o = 0; o < 3; o++)
                argps |= strncmp(own[o], word + 2, length) == 0;
            if (!known && !argps)
                refuse_option(options, word + 2, (int)length);
            takes_next = word[2 + length] == '\0';
        } else {
            known = short_option(options, word[1]);
            if (!known && word[1] != '?' && word[1] != 'V')
                tool_refuse("there is no option -%c: --help lists them", word[1]);
            takes_next = word[2] == '\0';
        }
        if (known && known->arg && !(known->flags & OPTION_ARG_OPTIONAL) && takes_next)
            i++;
    }
}
