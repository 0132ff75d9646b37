#include "kit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/settings.h"
#include "support/random.h"

const struct tutti_device *device;

int kit_open(const char *name)
{
    const struct tutti_device *found;
    char why[256] = "";
    int built, index = 0;
    while ((found = tutti_device_at(index++, &built)) != NULL && strcmp(found->name, name) != 0)
        continue;
    if (!found) {
        fprintf(stderr, "there is no device %s\n", name);
        return 2;
    }
    int status = built ? found->open(why, sizeof why) : TUTTI_ERR_UNAVAILABLE;
    if (!built || (status == TUTTI_ERR_UNAVAILABLE && strcmp(name, "host") != 0)) {
        printf("skipped: device %s %s\n", name, built ? why : "was left out of this build");
        return KIT_SKIP;
    }
    if (status != TUTTI_OK) {
        fprintf(stderr, "device %s: %s: %s\n", name, tutti_status_text(status), why);
        return 1;
    }
    device = found;
    for (int gpu = kit_is("host") ? device->gpu.count() - 1 : -1; gpu >= 0;
         gpu--) { /* of separate ones: Tutti works on all */
        int met = gpu;
        if (tutti_settings()->host_links[0] &&
            (device->gpu.choose(gpu) != TUTTI_OK || device->gpu.meet(&met) != TUTTI_OK))
            return 1;
    }
    return 0;
}

int kit_is(const char *name)
{
    return strcmp(device->name, name) == 0;
}

int kit_strict(void)
{
    return kit_is("host") && tutti_settings()->host_strict;
}

void kit_pattern(void *host, size_t bytes, uint64_t seed)
{
    unsigned char *at = host;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_mix(seed + (i << 20));
        memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

void *kit_alloc(size_t bytes)
{
    void *made = NULL;
    assert_int_equal(device->memory.alloc(-1, bytes, &made), TUTTI_OK);
    assert_non_null(made);
    assert_int_equal((uintptr_t)made % 256, 0);
    return made;
}

void kit_free(void *pointer)
{
    assert_int_equal(device->memory.free(pointer), TUTTI_OK);
}

void kit_put(void *any, size_t bytes, uint64_t seed)
{
    unsigned char *host = malloc(bytes + 1);
    assert_non_null(host);
    kit_pattern(host, bytes, seed);
    assert_int_equal(device->memory.copy_now(any, host, bytes), TUTTI_OK);
    free(host);
}

int kit_holds(const void *any, size_t bytes, uint64_t seed)
{
    unsigned char *host = malloc(2 * bytes + 1), *wanted = host + bytes;
    size_t i = 0;
    if (!host)
        return 0;
    kit_pattern(wanted, bytes, seed);
    memset(host, ~wanted[0], bytes);
    int status = device->memory.copy_now(host, any, bytes);
    if (status == TUTTI_OK)
        while (i < bytes && host[i] == wanted[i])
            i++;
    if (i < bytes)
        fprintf(stderr, "byte %zu of %zu is %02x, not %02x (%s)\n", i, bytes, host[i], wanted[i],
                tutti_status_text(status));
    free(host);
    return i == bytes;
}

int kit_descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

int kit_child(int (*body)(void *), void *with)
{
    int state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* A sanitizer's own handler would turn the fault into an exit. */
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(KIT_SECONDS);
        _exit(body(with));
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    return WIFSIGNALED(state) ? -WTERMSIG(state) : WEXITSTATUS(state);
}

struct kit_words *kit_words(struct kit_words **mapped)
{
    void *seen = NULL;
    struct kit_words *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(words != MAP_FAILED);
    assert_int_equal(device->memory.map_host(0, words, 4096, &seen), TUTTI_OK);
    assert_non_null(seen);
    *mapped = seen;
    return words;
}

void kit_words_free(struct kit_words *words)
{
    assert_int_equal(device->memory.unmap_host(0, words), TUTTI_OK);
    munmap(words, 4096);
}
