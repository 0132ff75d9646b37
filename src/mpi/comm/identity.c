/* A communicator's number is a hash of its parent's and of the count of communicators that were created from the parent
 * before: all ranks of the parent make these calls in one order. A split gives the same number to communicators that
 * have no rank in common, which no rank notices. */
#include "mpi/comm/identity.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The keys are handles and numbers of at most 8 bytes. */
#define HASH_FUNCTION(key, bytes, hash) ((hash) = identity_hash(key, bytes))
#include <uthash.h>

#include "core/fnv.h"
#include "mpi/real/handles.h"

static inline unsigned identity_hash(const void *key, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, key, bytes);
    return (unsigned)(tutti_mix(word) >> 32);
}

enum { WORLD = 1, SELF = 2, WINDOW = 3 };

/* By handle; and, of calls that name groups, how many there were of each kind. */
static struct known {
    MPI_Comm comm;
    uint64_t identity, children, windows;
    UT_hash_handle hh;
} * known;
static struct counted {
    uint64_t kind, calls;
    UT_hash_handle hh;
} * counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t identity_mix(const uint64_t *words, size_t n)
{
    const uint64_t hash = tutti_mix(tutti_fnv(TUTTI_FNV_BEGIN, words, n * sizeof *words));
    return hash > SELF ? hash : hash + SELF + 1;
}

/* The lock is held. NULL: not known, or there is no memory. */
static struct known *known_of(MPI_Comm comm)
{
    struct known *one;
    HASH_FIND(hh, known, &comm, sizeof comm, one);
    if (one || (comm != tutti_handles.world && comm != tutti_handles.self) || !(one = calloc(1, sizeof *one)))
        return one;
    one->comm = comm;
    one->identity = comm == tutti_handles.world ? WORLD : SELF;
    HASH_ADD(hh, known, comm, sizeof one->comm, one);
    return one;
}

uint64_t tutti_comm_identity(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    const struct known *one = known_of(comm);
    const uint64_t identity = one ? one->identity : 0;
    pthread_mutex_unlock(&lock);
    return identity;
}

uint64_t tutti_comm_identity_child(MPI_Comm comm)
{
    uint64_t identity = 0;
    pthread_mutex_lock(&lock);
    struct known *one = known_of(comm);
    if (one)
        identity = identity_mix((const uint64_t[]){one->identity, ++one->children}, 2);
    pthread_mutex_unlock(&lock);
    return identity;
}

uint64_t tutti_comm_identity_window(MPI_Comm comm)
{
    uint64_t identity = 0;
    pthread_mutex_lock(&lock);
    struct known *one = known_of(comm);
    if (one)
        identity = identity_mix((const uint64_t[]){one->identity, WINDOW, ++one->windows}, 3);
    pthread_mutex_unlock(&lock);
    return identity;
}

/* Of the ranks in MPI_COMM_WORLD. 0: not all are in it, or there is no memory. */
static uint64_t group_hash(MPI_Group group)
{
    MPI_Group world;
    int n = 0, fine;
    if (tutti_next.MPI_Group_size(group, &n) != MPI_SUCCESS ||
        tutti_next.MPI_Comm_group(tutti_handles.world, &world) != MPI_SUCCESS)
        return 0;
    int *ranks = malloc(((size_t)n + 1) * 2 * sizeof *ranks), *there = ranks ? ranks + n : NULL;
    for (int i = 0; ranks && i < n; i++)
        ranks[i] = i;
    fine = ranks && tutti_next.MPI_Group_translate_ranks(group, n, ranks, world, there) == MPI_SUCCESS;
    for (int i = 0; fine && i < n; i++)
        fine = there[i] >= 0;
    const uint64_t hash = fine ? tutti_mix(tutti_fnv(TUTTI_FNV_BEGIN, there, (size_t)n * sizeof *there)) | 1 : 0;
    tutti_next.MPI_Group_free(&world);
    free(ranks);
    return hash;
}

/* The lock is held. How many such calls there were before; 0 without memory too. */
static uint64_t calls_before(uint64_t kind)
{
    struct counted *one;
    HASH_FIND(hh, counted, &kind, sizeof kind, one);
    if (!one && (one = calloc(1, sizeof *one)) != NULL) {
        one->kind = kind;
        HASH_ADD(hh, counted, kind, sizeof one->kind, one);
    }
    return one ? one->calls++ : 0;
}

uint64_t tutti_comm_identity_of_group(uint64_t parent, MPI_Group group, const MPI_Group *other, int tag)
{
    const uint64_t mine = group_hash(group), theirs = other ? group_hash(*other) : 1;
    if (parent == 0 || mine == 0 || theirs == 0)
        return 0;
    uint64_t words[] = {parent, mine < theirs ? mine : theirs, mine < theirs ? theirs : mine, (uint64_t)tag, 0};
    pthread_mutex_lock(&lock);
    words[4] = calls_before(identity_mix(words, 4)) + 1;
    pthread_mutex_unlock(&lock);
    return identity_mix(words, 5);
}

void tutti_comm_identity_note(MPI_Comm comm, uint64_t identity)
{
    struct known *one;
    if (comm == tutti_handles.no_comm)
        return;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known, &comm, sizeof comm, one);
    if (!one && identity && (one = malloc(sizeof *one)) != NULL) {
        one->comm = comm;
        HASH_ADD(hh, known, comm, sizeof one->comm, one);
    }
    if (one) {
        one->identity = identity;
        one->children = one->windows = 0;
    }
    pthread_mutex_unlock(&lock);
}

void tutti_comm_identity_forget(MPI_Comm comm)
{
    struct known *one;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known, &comm, sizeof comm, one);
    if (one)
        HASH_DEL(known, one);
    pthread_mutex_unlock(&lock);
    free(one);
}

void tutti_comm_identities_close(void)
{
    struct known *one, *next;
    struct counted *kind, *after;
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, known, one, next)
    {
        HASH_DEL(known, one);
        free(one);
    }
    HASH_ITER(hh, counted, kind, after)
    {
        HASH_DEL(counted, kind);
        free(kind);
    }
    pthread_mutex_unlock(&lock);
}
