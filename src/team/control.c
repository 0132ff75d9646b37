/* Control pages and their slots. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "team/node.h"
#include "team/socket.h"

static const uint64_t page_magic = 0x5455545449504147; /* "TUTTIPAG" */
enum { PAGE_VERSION = 7, PAGE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* Pages that ranks of this process have made: where ranks are threads, all look at one mapping. No lock: a child after
 * fork releases its page while another thread of the parent may have held one. */
enum { OWN_PAGES = 64 };
static struct {
    _Atomic uint64_t inode;
    _Atomic(struct tutti_page *) page; /* NULL: free */
} own_pages[OWN_PAGES];

static uint64_t inode_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 ? (uint64_t)stat.st_ino : 0;
}

/* Pages above the limit are mapped once more by each rank that shares them. */
static void own_page_add(struct tutti_page *page, int fd)
{
    for (int i = 0; i < OWN_PAGES; i++) {
        struct tutti_page *none = NULL;
        if (!atomic_compare_exchange_strong(&own_pages[i].page, &none, page))
            continue;
        atomic_store(&own_pages[i].inode, inode_of(fd));
        return;
    }
}

static void own_page_remove(struct tutti_page *page)
{
    for (int i = 0; i < OWN_PAGES; i++) {
        if (atomic_load(&own_pages[i].page) != page)
            continue;
        atomic_store(&own_pages[i].inode, 0);
        atomic_store(&own_pages[i].page, NULL);
        return;
    }
}

/* The page behind `fd`, one reference more, where a rank of this process has made it; NULL otherwise. */
static struct tutti_page *find_own(int fd)
{
    const uint64_t inode = inode_of(fd); /* as long as fd is open, no other memory's */
    for (int i = 0; inode && i < OWN_PAGES; i++) {
        struct tutti_page *page = atomic_load(&own_pages[i].page);
        if (!page || atomic_load(&own_pages[i].inode) != inode)
            continue;
        atomic_fetch_add(&page->refs, 1);
        return page;
    }
    return NULL;
}

static int page_map(int fd, struct tutti_page **out)
{
    struct tutti_page *page = calloc(1, sizeof *page);
    if (!page)
        return TUTTI_ERR_MEMORY;
    page->control = mmap(NULL, sizeof *page->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page->control == MAP_FAILED) {
        free(page);
        return TUTTI_ERR_SYSTEM;
    }
    atomic_store(&page->refs, 1);
    *out = page;
    return TUTTI_OK;
}

int tutti_page_create(const uint64_t nonce[2], int *out_fd, struct tutti_page **out)
{
    int fd = memfd_create("tutti-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        tutti_info("memfd_create failed: error %d", errno);
        return TUTTI_ERR_SYSTEM;
    }
    /* All pages but those of lists are taken now: a full machine must fail here, not with SIGBUS at a later store. */
    int status = TUTTI_ERR_SYSTEM;
    if (ftruncate(fd, sizeof(struct tutti_control)) != 0 ||
        fallocate(fd, 0, 0, offsetof(struct tutti_control, listed)) != 0 ||
        fcntl(fd, F_ADD_SEALS, PAGE_SEALS | F_SEAL_SEAL) != 0)
        tutti_info("no memory for the control page: error %d", errno);
    else
        status = page_map(fd, out);
    if (status != TUTTI_OK) {
        close(fd);
        return status;
    }
    struct tutti_control *control = (*out)->control;
    control->magic = page_magic;
    control->version = PAGE_VERSION;
    control->pid = (uint32_t)getpid();
    control->nonce[0] = nonce[0];
    control->nonce[1] = nonce[1];
    own_page_add(*out, fd);
    *out_fd = fd;
    return TUTTI_OK;
}

int tutti_page_map(int fd, const uint64_t nonce[2], struct tutti_page **out)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & PAGE_SEALS) != PAGE_SEALS || fstat(fd, &stat) != 0 ||
        stat.st_size != (off_t)sizeof(struct tutti_control)) {
        tutti_info("a peer's control page was refused: its size is not %zu or not sealed",
                   sizeof(struct tutti_control));
        return TUTTI_ERR_SYSTEM;
    }
    struct tutti_page *page = find_own(fd);
    int status = page ? TUTTI_OK : page_map(fd, &page);
    if (status != TUTTI_OK)
        return status;
    const struct tutti_control *control = page->control;
    if (control->magic != page_magic || control->version != PAGE_VERSION || control->nonce[0] != nonce[0] ||
        control->nonce[1] != nonce[1]) {
        tutti_info("a peer's control page was refused: it is not of this node and version");
        tutti_page_release(page);
        return TUTTI_ERR_SYSTEM;
    }
    *out = page;
    return TUTTI_OK;
}

void tutti_page_release(struct tutti_page *page)
{
    if (!page || atomic_fetch_sub(&page->refs, 1) != 1)
        return;
    own_page_remove(page);
    munmap(page->control, sizeof *page->control);
    free(page);
}

static void slot_clear(struct tutti_slot *slot)
{
    atomic_store_explicit(&slot->sequence, (uint32_t)TUTTI_FIRST, memory_order_relaxed);
    atomic_store_explicit(&slot->done, (uint32_t)TUTTI_FIRST, memory_order_relaxed);
    atomic_store_explicit(&slot->voted, (uint32_t)TUTTI_FIRST, memory_order_relaxed);
    atomic_store_explicit(&slot->done_status, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->broken, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->left, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->report, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->asked, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->want, 0, memory_order_relaxed);
    for (int i = 0; i < TUTTI_RECORDS; i++) {
        atomic_store_explicit(&slot->record[i].head, (uint32_t)TUTTI_FIRST, memory_order_relaxed);
        atomic_store_explicit(&slot->record[i].ready, (uint32_t)TUTTI_FIRST, memory_order_relaxed);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store_explicit(&slot->device[i], (uint32_t)TUTTI_FIRST, memory_order_relaxed);
        slot->shares[i].in.shared = slot->shares[i].out.shared = 0;
    }
}

/* The lock is held. */
static void control_drop(struct tutti_node *node, int number)
{
    node->slots[number / 64] &= ~(UINT64_C(1) << number % 64);
}

/* The lock is held. The lowest slot that is free, or -1. */
static int control_take(struct tutti_node *node)
{
    for (int i = 0; i < TUTTI_SLOTS / 64; i++) {
        if (~node->slots[i] == 0)
            continue;
        const int bit = __builtin_ctzll(~node->slots[i]);
        node->slots[i] |= UINT64_C(1) << bit;
        return i * 64 + bit;
    }
    return -1;
}

int tutti_slots_take(struct tutti_node *node, int number[], int n)
{
    int taken = 0;
    tutti_fiber_lock(&node->lock);
    tutti_membership_sweep(node);
    while (taken < n && (number[taken] = control_take(node)) >= 0)
        taken++;
    const int all = taken == n;
    while (!all && taken > 0)
        control_drop(node, number[--taken]);
    pthread_mutex_unlock(&node->lock);
    for (int i = 0; i < taken; i++)
        slot_clear(&tutti_node_control(node)->slot[number[i]]);
    atomic_thread_fence(memory_order_seq_cst); /* before peers are sent their numbers */
    return all;
}

void tutti_slots_drop(struct tutti_node *node, const int number[], int n)
{
    tutti_fiber_lock(&node->lock);
    for (int i = 0; i < n; i++)
        control_drop(node, number[i]);
    pthread_mutex_unlock(&node->lock);
}

void *tutti_team_memory_take(struct tutti_team_memory *memory)
{
    return memory->n > 0 ? memory->block[--memory->n] : NULL;
}

void tutti_team_memory_put(struct tutti_team_memory *memory, void *block)
{
    if (memory->n < TUTTI_TEAM_MEMORY)
        memory->block[memory->n++] = block;
    else
        free(block);
}

void tutti_membership_leave(struct tutti_membership *membership)
{
    struct tutti_node *node = membership->node;
    if (!membership->resources ||
        !membership->resources->stuck) /* a kernel that has not left may still write into peers' channels */
        atomic_fetch_add(&membership->slot[membership->rank]->generation, 1);
    tutti_socket_purge(node, membership->number[membership->rank]);
    tutti_fiber_lock(&node->lock);
    membership->next = node->leaving;
    node->leaving = membership;
    pthread_mutex_unlock(&node->lock);
}

static int left_by_all(const struct tutti_membership *membership)
{
    for (int r = 0; r < membership->size; r++) {
        struct tutti_peer *peer = &membership->node->peer[membership->peer[r]];
        if (atomic_load(&membership->slot[r]->generation) == membership->generation[r] && !atomic_load(&peer->gone) &&
            !atomic_load(&peer->page->control->closed))
            return 0;
    }
    return 1;
}

int tutti_membership_sweep(struct tutti_node *node)
{
    struct tutti_membership **at = &node->leaving;
    while (*at) {
        struct tutti_membership *membership = *at;
        if (!left_by_all(membership)) {
            at = &membership->next;
            continue;
        }
        *at = membership->next;
        control_drop(node, membership->number[membership->rank]);
        if (membership->resources && !membership->resources->stuck)
            membership->resources->used = 0;
        tutti_team_memory_put(&node->membership_memory, membership);
    }
    return !node->leaving;
}
