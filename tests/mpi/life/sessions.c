/* Programs with sessions (MPI 4): device memory on communicators that are made of a session's groups.
 *
 *   sessions one      one session: communicators of all ranks, of this one, of some; duplicates
 *   sessions small    communicators of this rank alone and of pairs come before that of all ranks
 *   sessions crossing pairs first, then a communicator of ranks of two pairs: what it does is staged, and says why
 *   sessions held     pairs first, with receives that are open while a communicator of all ranks is made
 *   sessions two      two sessions, of which the first one to begin ends first
 *   sessions beside   MPI_Init first, then a session that outlives MPI_Finalize
 *   sessions before   a session first, then MPI_Init; the session ends first
 *   sessions again    three times after each other
 *   sessions alone    one process, host memory alone
 *   sessions threads  a session with MPI_THREAD_MULTIPLE */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

#include "tutti/tutti.h"

#if defined(MPI_SESSION_NULL) || MPI_VERSION >= 4

enum { COUNT = 3000, SECONDS = 20 };
static struct kit_buffer in, out;

/* Sessions of all ranks that have ended, in memory that they share. MPICH 5 begins again wrongly, with or without
 * Tutti, where a rank does so while another one still ends: MPI_Comm_create_from_group fails in its exchange of
 * addresses ("Message truncated", or UCX unpacks none), or waits. */
static atomic_int *ended;

static MPI_Session begin(const char *level)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info = MPI_INFO_NULL;
    if (level) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", level);
    }
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "MPI_Session_init");
    if (level)
        MPI_Info_free(&info);
    return session;
}

/* MPI 4.1: before there is a communicator the program asks its session what memory calls take. */
static void asks_for_kinds(MPI_Session session)
{
    MPI_Info info;
    char kinds[512] = "";
    int flag = 0;
    CHECK(MPI_Session_get_info(session, &info) == MPI_SUCCESS, "MPI_Session_get_info");
    MPI_Info_get(info, "mpi_memory_alloc_kinds", (int)sizeof kinds - 1, kinds, &flag);
    MPI_Info_free(&info);
    const char *at = strstr(kinds, "tutti:device");
    CHECK(kit_plain || (flag && at && !strstr(at + 1, "tutti:device")), "the kinds of a session are '%s'", kinds);
}

static void end(MPI_Session *session)
{
    CHECK(MPI_Session_finalize(session) == MPI_SUCCESS && *session == MPI_SESSION_NULL, "MPI_Session_finalize");
}

static MPI_Comm of_group(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    const int error = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    CHECK(error == MPI_SUCCESS && comm != MPI_COMM_NULL, "MPI_Comm_create_from_group %s: class %d", tag,
          kit_class(error));
    return comm;
}

static MPI_Comm of_set(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS, "the group of %s", set);
    MPI_Comm comm = of_group(group, tag);
    MPI_Group_free(&group);
    return comm;
}

/* Ranks 2k and 2k + 1. */
static MPI_Comm of_pair(MPI_Session session)
{
    MPI_Group all, pair;
    int size, rank;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_size(all, &size);
    MPI_Group_rank(all, &rank);
    const int first = rank & ~1, ranks[2] = {first, first + 1};
    MPI_Group_incl(all, first + 1 < size ? 2 : 1, ranks, &pair);
    MPI_Comm comm = of_group(pair, "pair");
    MPI_Group_free(&pair);
    MPI_Group_free(&all);
    return comm;
}

static void reduce(MPI_Comm comm, const char *when)
{
    static int mine[COUNT], sum[COUNT];
    int rank, size, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; i++)
        mine[i] = i + rank;
    void *from = kit_put(&in, 0, mine, sizeof mine), *to = kit_put(&out, 0, NULL, sizeof sum);
    const int error = MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, comm);
    memcpy(sum, kit_get(&out, NULL), sizeof sum);
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != size * i + size * (size - 1) / 2;
    CHECK(error == MPI_SUCCESS && wrong == 0, "MPI_Allreduce %s: class %d, %d wrong", when, kit_class(error), wrong);
}

static void ring(MPI_Comm comm, const char *when)
{
    static int mine[COUNT];
    int rank, size;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; i++)
        mine[i] = 5 * i + rank;
    void *from = kit_put(&in, 0, mine, sizeof mine), *to = kit_put(&out, 0, NULL, sizeof mine);
    const int before = (rank + size - 1) % size;
    int error = MPI_Irecv(to, COUNT, MPI_INT, before, 9, comm, &request);
    error |= MPI_Send(from, COUNT, MPI_INT, (rank + 1) % size, 9, comm);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    CHECK(error == MPI_SUCCESS && got[0] == before && got[COUNT - 1] == 5 * (COUNT - 1) + before,
          "messages %s: class %d", when, kit_class(error));
}

static MPI_Datatype type; /* of the program, which stays while the MPI is up */

static void forget(void)
{
    MPI_Type_free(&type);
}

/* Collective: makes the memory, once. */
static void share_ended(MPI_Comm comm)
{
    int where[2] = {getpid(), kit_rank == 0 ? memfd_create("sessions", 0) : -1};
    char path[64];
    if (ended)
        return;
    if (kit_rank == 0 && ftruncate(where[1], sizeof *ended) != 0)
        CHECK(0, "memory of all ranks");
    MPI_Bcast(where, 2, MPI_INT, 0, comm);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
    const int fd = open(path, O_RDWR);
    void *memory = mmap(NULL, sizeof *ended, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED, "memory of all ranks");
    ended = memory == MAP_FAILED ? NULL : memory;
    MPI_Barrier(comm);
}

static void wait_for_all(int sessions)
{
    if (ended)
        atomic_fetch_add(ended, 1);
    while (ended && atomic_load(ended) < sessions * kit_size)
        usleep(1000);
}

/* Blocking and nonblocking calls, messages, and the type. */
static void use(MPI_Comm comm, const char *when)
{
    MPI_Request request;
    int size, first = 1, *got;
    for (int round = 0; round < 3; round++) {
        reduce(comm, when);
        ring(comm, when);
    }
    MPI_Comm_size(comm, &size);
    if (type == MPI_DATATYPE_NULL)
        CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &type) == MPI_SUCCESS && MPI_Type_commit(&type) == MPI_SUCCESS,
              "a type");
    int value[4] = {1, 2, 3, 4};
    void *at = kit_put(&in, 0, value, sizeof value);
    int error = MPI_Bcast(at, 1, type, 0, comm);
    error |= MPI_Iallreduce(MPI_IN_PLACE, at, 3, MPI_INT, MPI_SUM, comm, &request);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    got = (int *)(void *)kit_get(&in, NULL);
    first = got[0];
    CHECK(error == MPI_SUCCESS && first == size && got[2] == 3 * size, "MPI_Iallreduce %s: class %d", when,
          kit_class(error));
}

static void name_rank(MPI_Comm comm)
{
    MPI_Comm_rank(comm, &kit_rank);
    MPI_Comm_size(comm, &kit_size);
    check_rank(kit_rank);
}

static void one(const char *level)
{
    MPI_Session session = begin(level);
    asks_for_kinds(session);
    MPI_Comm world = of_set(session, "mpi://WORLD", "all"), self, pair, dup;
    name_rank(world);
    share_ended(world);
    use(world, "on all ranks");
    self = of_set(session, "mpi://SELF", "self");
    use(self, "on this rank");
    pair = of_pair(session);
    use(pair, "on a pair");
    MPI_Comm_dup(world, &dup);
    use(dup, "on a duplicate");
    MPI_Comm_free(&dup);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&self);
    use(world, "on all ranks again");
    forget();
    MPI_Comm_free(&world);
    end(&session);
}

static void small(void)
{
    MPI_Session session = begin(NULL);
    MPI_Comm self = of_set(session, "mpi://SELF", "self"), pair, world;
    use(self, "on this rank first");
    pair = of_pair(session);
    use(pair, "on a pair then");
    use(self, "on this rank after a pair");
    world = of_set(session, "mpi://WORLD", "all");
    name_rank(world);
    use(world, "on all ranks at last");
    use(pair, "on a pair at last");
    use(self, "on this rank at last");
    MPI_Comm_free(&self);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&world);
    forget();
    end(&session);
}

/* Needs TUTTI_STATS=1. */
static void crossing(void)
{
    static const char why[] = "outside a session";
    MPI_Session session = begin(NULL);
    MPI_Comm pair = of_pair(session), world;
    MPI_Group all, middle;
    int size, rank;
    use(pair, "on a pair");
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_size(all, &size);
    MPI_Group_rank(all, &rank);
    if (size >= 4 && (rank == 1 || rank == 2)) {
        MPI_Group_incl(all, 2, (const int[]){1, 2}, &middle);
        MPI_Comm comm = of_group(middle, "middle");
        use(comm, "on ranks of two pairs");
        CHECK(kit_counted("MPI_Allreduce", why) > 0 && kit_counted("MPI_Send", why) > 0,
              "%llu reductions and %llu messages of two pairs are counted",
              (unsigned long long)kit_counted("MPI_Allreduce", why), (unsigned long long)kit_counted("MPI_Send", why));
        MPI_Comm_free(&comm);
        MPI_Group_free(&middle);
    }
    MPI_Group_free(&all);
    world = of_set(session, "mpi://WORLD", "all");
    name_rank(world);
    const uint64_t before = kit_counted("MPI_Allreduce", why);
    use(world, "on all ranks at last");
    CHECK(kit_counted("MPI_Allreduce", why) == before, "a communicator of all ranks is staged");
    MPI_Comm_free(&pair);
    MPI_Comm_free(&world);
    forget();
    end(&session);
}

/* The receives are of host memory, and the program has met no GPU. */
static void held(void)
{
    static int got[COUNT], data[COUNT];
    MPI_Session session = begin(NULL);
    MPI_Comm pair = of_pair(session), world;
    MPI_Request request;
    int rank, wrong = 0;
    MPI_Comm_rank(pair, &rank);
    if (rank == 1)
        MPI_Irecv(got, COUNT, MPI_INT, 0, 7, pair, &request);
    world = of_set(session, "mpi://WORLD", "all");
    name_rank(world);
    use(world, "on all ranks");
    use(pair, "on a pair");
    for (int i = 0; i < COUNT; i++)
        data[i] = 3 * i + 1;
    if (rank == 0)
        MPI_Send(kit_put(&in, 0, data, sizeof data), COUNT, MPI_INT, 1, 7, pair);
    else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT && rank == 1; i++)
        wrong += got[i] != data[i];
    CHECK(wrong == 0, "a receive that is older than the communicator of all ranks: %d wrong", wrong);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&world);
    forget();
    end(&session);
}

static void two(void)
{
    MPI_Session first = begin(NULL), second = begin(NULL);
    MPI_Comm a = of_set(first, "mpi://WORLD", "a"), b = of_set(second, "mpi://WORLD", "b");
    name_rank(a);
    use(a, "in the first session");
    use(b, "in the second session");
    MPI_Comm_free(&a);
    end(&first);
    use(b, "after the first session");
    forget();
    MPI_Comm_free(&b);
    end(&second);
}

static void beside(void)
{
    MPI_Init(NULL, NULL);
    MPI_Session session = begin(NULL);
    MPI_Comm comm = of_set(session, "mpi://WORLD", "beside"), late;
    name_rank(comm);
    use(comm, "beside MPI_Init");
    use(MPI_COMM_WORLD, "in MPI_COMM_WORLD beside a session");
    MPI_Finalize();
    use(comm, "after MPI_Finalize");
    late = of_set(session, "mpi://WORLD", "late");
    use(late, "after MPI_Finalize, made late");
    MPI_Comm_free(&late);
    forget();
    MPI_Comm_free(&comm);
    end(&session);
}

static void before(void)
{
    MPI_Session session = begin(NULL);
    MPI_Comm comm = of_set(session, "mpi://WORLD", "before");
    name_rank(comm);
    use(comm, "before MPI_Init");
    MPI_Init(NULL, NULL);
    use(MPI_COMM_WORLD, "after a session has begun");
    use(comm, "after MPI_Init");
    use(MPI_COMM_SELF, "in MPI_COMM_SELF");
    MPI_Comm_free(&comm);
    end(&session);
    use(MPI_COMM_WORLD, "after the session");
    forget();
    MPI_Finalize();
}

/* MPICH 4.0 by itself crashes in MPI_Test there, so that this makes no such call. */
static void alone(void)
{
    MPI_Session session = begin(NULL);
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    int sent = 5, got = 0, sum = 0;
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "MPI_Group_from_session_pset");
    CHECK(MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS,
          "MPI_Comm_create_from_group");
    MPI_Group_free(&group);
    MPI_Irecv(&got, 1, MPI_INT, 0, 3, comm, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, 3, comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == sent, "a message to this process: %d", got);
    CHECK(MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == sent, "the sum is %d", sum);
    MPI_Comm_free(&comm);
    end(&session);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

/* Without a place for the communicator the MPI calls the error handler, and may then return MPI_SUCCESS. */
static void nowhere(void)
{
    MPI_Session session = begin(NULL);
    MPI_Group group;
    MPI_Comm comm;
    MPI_Errhandler handler;
    CHECK(MPI_Comm_create_errhandler(handle, &handler) == MPI_SUCCESS, "MPI_Comm_create_errhandler");
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS, "MPI_Group_from_session_pset");
    MPI_Comm_create_from_group(group, "nowhere", MPI_INFO_NULL, handler, NULL);
    CHECK(handled == 1, "the error handler was called %d times", handled);
    CHECK(MPI_Comm_create_from_group(group, "somewhere", MPI_INFO_NULL, handler, &comm) == MPI_SUCCESS,
          "MPI_Comm_create_from_group");
    MPI_Group_free(&group);
    MPI_Errhandler_free(&handler);
    use(comm, "after a call that could not return one");
    MPI_Comm_free(&comm);
    end(&session);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"small", small},   {"crossing", crossing}, {"held", held},       {"two", two},
             {"beside", beside}, {"before", before},     {"nowhere", nowhere}, {"alone", alone}};

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "one";
    type = MPI_DATATYPE_NULL;
    kit_plain = check_setting("TUTTI_TEST_PLAIN", 0) != 0;
    alarm(SECONDS);
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, COUNT * sizeof(int));
    if (strcmp(mode, "one") == 0 || strcmp(mode, "threads") == 0)
        one(strcmp(mode, "one") == 0 ? NULL : "MPI_THREAD_MULTIPLE");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(mode, modes[i].name) == 0)
            modes[i].run();
    }
    for (int i = 0; i < 3 && strcmp(mode, "again") == 0; i++) {
        one(NULL);
        wait_for_all(i + 1);
    }
    kit_close(&in);
    kit_close(&out);
    printf("sessions %s: rank %d of %d, %ld checks, %ld failed\n", mode, kit_rank, kit_size, check_done(),
           check_failed());
    return check_failed() > 0 || check_done() == 0;
}

#else

int main(void)
{
    printf("sessions: skipped: the MPI has none\n");
    return CHECK_SKIP;
}

#endif
