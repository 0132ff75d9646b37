#include "device/host/kept.h"

#include <string.h>
#include <sys/mman.h>

#include "core/settings.h"
#include "device/host/arena.h"

enum {
    KEPT = 128, /* regions, and bytes of one and of all that are kept */
    LARGEST_KEPT = 4 << 20,
    KEPT_BYTES = 16 << 20,
    LARGEST_CLEARED = 64 << 10 /* longer ones hold what they held: to clear them takes as long as a new one */
};

static struct {
    char *base;
    size_t mapped;
} kept[KEPT]; /* the last one freed at the end */
static int kept_n;
static size_t kept_bytes;

static int set_access(char *base, size_t mapped, int access)
{
    return mprotect(base, mapped, access) == 0 && mprotect(tutti_host_arena_alias(base), mapped, access) == 0;
}

int tutti_host_kept_put(char *base, size_t mapped, int may)
{
    if (!may || mapped > LARGEST_KEPT || kept_n >= KEPT || kept_bytes + mapped > KEPT_BYTES ||
        tutti_settings()->host_strict || !set_access(base, mapped, PROT_NONE))
        return 0;
    kept[kept_n].base = base;
    kept[kept_n++].mapped = mapped;
    kept_bytes += mapped;
    return 1;
}

char *tutti_host_kept_take(size_t mapped)
{
    if (mapped > LARGEST_KEPT || tutti_settings()->host_strict)
        return NULL;
    for (int i = kept_n - 1; i >= 0; i--) {
        char *const base = kept[i].base;
        if (kept[i].mapped != mapped || !set_access(base, mapped, PROT_READ | PROT_WRITE))
            continue;
        memmove(&kept[i], &kept[i + 1], (size_t)(kept_n - i - 1) * sizeof *kept);
        kept_n--;
        kept_bytes -= mapped;
        if (mapped <= LARGEST_CLEARED)
            memset(base, 0, mapped);
        return base;
    }
    return NULL;
}

char *tutti_host_kept_drop(void)
{
    if (kept_n == 0)
        return NULL;
    kept_bytes -= kept[--kept_n].mapped;
    return kept[kept_n].base;
}
