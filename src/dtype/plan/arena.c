#include "dtype/plan/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX /* so that the heap's checks see them */
#else
#define LARGE ((size_t)64 << 10)
#endif

enum {
    GRAIN = 64 << 10, /* of the size of large ones: a type of nearly the same size finds room */
    KEPT = 4,
    KEPT_MOST = 2 << 20 /* of one of them */
};

struct head {
    size_t bytes;  /* that can be used */
    size_t mapped; /* with the head; 0: of malloc */
};

static _Atomic(struct head *) kept[KEPT];

static size_t arena_needed(size_t n, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 4 ? 0 : bytes + sizeof(struct head);
}

/* The smallest of all goes. */
static void put_back(struct head *head)
{
    for (int i = 0; i < KEPT && head && head->mapped <= KEPT_MOST; i++) {
        struct head *there = atomic_exchange(&kept[i], NULL);
        const int larger = there && there->mapped > head->mapped;
        struct head *stays = larger ? there : head, *other = atomic_exchange(&kept[i], stays);
        if (other) /* of another thread, meanwhile */
            munmap(other, other->mapped);
        head = larger ? head : there;
    }
    if (head)
        munmap(head, head->mapped);
}

/* One that is not more than twice as large. */
static struct head *find_kept(size_t mapped)
{
    for (int i = 0; i < KEPT; i++) {
        struct head *head = atomic_load(&kept[i]) ? atomic_exchange(&kept[i], NULL) : NULL;
        if (head && head->mapped >= mapped && head->mapped / 2 <= mapped)
            return head;
        if (head)
            put_back(head);
    }
    return NULL;
}

static struct head *arena_map(size_t bytes)
{
    size_t mapped = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    struct head *head = find_kept(mapped);
    if (head)
        return head;
    head = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (head == MAP_FAILED)
        return NULL;
    *head = (struct head){mapped - sizeof *head, mapped};
    return head;
}

void *tutti_arena_take(size_t n, size_t size)
{
    const size_t bytes = arena_needed(n, size);
    struct head *head = bytes == 0 ? NULL : bytes >= LARGE ? arena_map(bytes) : malloc(bytes);
    if (!head)
        return NULL;
    if (bytes < LARGE)
        *head = (struct head){bytes - sizeof *head, 0};
    return head + 1;
}

void *tutti_arena_grow(void *arena, size_t n, size_t size)
{
    const struct head *head = arena ? (struct head *)arena - 1 : NULL;
    if (head && n <= head->bytes / size)
        return arena;
    void *more = tutti_arena_take(n, size);
    if (more && head) {
        memcpy(more, arena, head->bytes);
        tutti_arena_free(arena);
    }
    return more;
}

void *tutti_arena_fit(void *arena, size_t n, size_t size)
{
    const struct head *head = (struct head *)arena - 1;
    const size_t bytes = n * size;
    if (head->bytes - bytes <= bytes / 4 + GRAIN / 16)
        return arena;
    void *less = tutti_arena_take(n, size);
    if (!less)
        return arena;
    memcpy(less, arena, bytes);
    tutti_arena_free(arena);
    return less;
}

void tutti_arena_free(void *arena)
{
    struct head *head = arena ? (struct head *)arena - 1 : NULL;
    if (head && head->mapped)
        put_back(head);
    else
        free(head);
}
