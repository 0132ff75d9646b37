/* Communicators and windows by the calls that few programs make: device memory goes over each of them as over one of
 * MPI_Comm_dup. usage: made [child]; `child` is what the program starts itself with. In the environment
 * TUTTI_TEST_MADE: words for the calls that are left out (spawn, connect, join, errors). */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"

enum { COUNT = 3000 };

static struct kit_buffer device, result;
static int numbers[COUNT];

static int leaves_out(const char *word)
{
    const char *text = getenv("TUTTI_TEST_MADE");
    return text && strstr(text, word);
}

/* A sum of device memory over the communicator; and, over one of two groups, from each to the other. */
static void check_comm(MPI_Comm comm, const char *call)
{
    int inter, ranks, rank, others;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    others = ranks;
    if (inter)
        MPI_Comm_remote_size(comm, &others);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i + 7;
    const void *in = kit_put(&device, 0, numbers, sizeof numbers);
    void *out = kit_put(&result, 16, NULL, sizeof numbers);
    int code = MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
    int guards, i = 0;
    const int *got = (const int *)(const void *)kit_get(&result, &guards);
    while (i < COUNT && got[i] == others * (i + 7))
        i++;
    CHECK(code == MPI_SUCCESS && i == COUNT && guards, "%s: a sum over its communicator is wrong (error class %d)",
          call, kit_class(code));
    if (rank >= others)
        return;
    MPI_Status status;
    const int peer = inter ? rank : ranks - 1 - rank;
    out = kit_put(&result, 16, NULL, sizeof numbers);
    code = MPI_Sendrecv(in, COUNT, MPI_INT, peer, 5, out, COUNT, MPI_INT, peer, 5, comm, &status);
    got = (const int *)(const void *)kit_get(&result, NULL);
    CHECK(code == MPI_SUCCESS && memcmp(got, numbers, sizeof numbers) == 0, "%s: a message over it is wrong", call);
}

static void intracommunicators(void)
{
    MPI_Comm comm;
    MPI_Group all, group;
    const int me = kit_rank, next = (kit_rank + 1) % kit_size, one = 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int(*ranks)[3] = malloc(sizeof *ranks);
    (*ranks)[0] = 0;
    (*ranks)[1] = kit_size - 1;
    (*ranks)[2] = 1;
    MPI_Group_range_incl(all, 1, ranks, &group);
    free(ranks);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    check_comm(comm, "MPI_Comm_create");
    MPI_Comm_disconnect(&comm);
    CHECK(comm == MPI_COMM_NULL, "MPI_Comm_disconnect leaves a handle");
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    check_comm(comm, "MPI_Comm_split_type");
    MPI_Comm_disconnect(&comm);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &one, &next, &one, MPI_INFO_NULL, 0, &comm);
    check_comm(comm, "MPI_Dist_graph_create");
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i + me * 5;
    const void *in = kit_put(&device, 0, numbers, sizeof numbers);
    void *out = kit_put(&result, 0, NULL, sizeof numbers);
    MPI_Neighbor_allgather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, comm);
    const int *got = (const int *)(const void *)kit_get(&result, NULL), before = (me + kit_size - 1) % kit_size;
    CHECK(got[0] == before * 5 && got[COUNT - 1] == COUNT - 1 + before * 5,
          "MPI_Dist_graph_create: MPI_Neighbor_allgather over it is wrong");
    MPI_Comm_free(&comm);
}

/* MPI_Errhandler_set, which newer standards have no more: the error of a message that is too long is returned. */
static void errors_returned(void)
{
    int (*set)(MPI_Comm, MPI_Errhandler);
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;
    *(void **)(void *)&set = dlsym(RTLD_DEFAULT, "MPI_Errhandler_set");
    if (!set || leaves_out("errors"))
        return;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    CHECK(set(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS, "MPI_Errhandler_set fails");
    MPI_Irecv(kit_put(&result, 0, NULL, 40), 10, MPI_INT, 0, 3, comm, &request);
    MPI_Send(kit_put(&device, 0, numbers, 400), 100, MPI_INT, 0, 3, comm);
    const int code = MPI_Wait(&request, &status);
    CHECK(kit_class(code) == MPI_ERR_TRUNCATE, "MPI_Errhandler_set: error class %d for a message that is too long",
          kit_class(code));
    MPI_Comm_free(&comm);
}

/* Two groups of a job, and two processes that know nothing of each other. */
static void intercommunicators(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
#if MPI_VERSION >= 4
    MPI_Group all, mine, other;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int first[] = {0}, rest[] = {1};
    MPI_Group_incl(all, 1, kit_rank == 0 ? first : rest, &mine);
    MPI_Group_incl(all, 1, kit_rank == 0 ? rest : first, &other);
    if (kit_rank < 2 &&
        MPI_Intercomm_create_from_groups(mine, 0, other, 0, "made", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
            MPI_SUCCESS &&
        comm != MPI_COMM_NULL) {
        check_comm(comm, "MPI_Intercomm_create_from_groups");
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
#endif
    char port[MPI_MAX_PORT_NAME] = "";
    int fine = 1;
    if (leaves_out("connect"))
        return;
    if (kit_rank == 0)
        fine = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
    MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (fine && kit_rank < 2) {
        fine = (kit_rank == 0 ? MPI_Comm_accept : MPI_Comm_connect)(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm) ==
               MPI_SUCCESS;
        if (CHECK(fine, "MPI_Comm_accept and MPI_Comm_connect fail")) {
            check_comm(comm, kit_rank == 0 ? "MPI_Comm_accept" : "MPI_Comm_connect");
            MPI_Comm_disconnect(&comm);
        }
    }
    /* The port stays open: MPICH 4.0 may end with a segmentation fault in MPI_Close_port behind a disconnect. */
}

/* Over a socket of this machine. */
static void joined(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    MPI_Comm comm;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0, code;
    if (leaves_out("join"))
        return;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (kit_rank == 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &length) == 0)
        port = at.sin_port;
    MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
    at.sin_port = (in_port_t)port;
    if (kit_rank < 2 && port) {
        const int peer = kit_rank == 0 ? accept(fd, NULL, NULL) : fd;
        if (kit_rank == 1 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
            CHECK(0, "the ranks' sockets cannot be connected");
        code = MPI_Comm_join(peer, &comm);
        if (CHECK(code == MPI_SUCCESS, "MPI_Comm_join: error class %d", kit_class(code)) && comm != MPI_COMM_NULL) {
            check_comm(comm, "MPI_Comm_join");
            MPI_Comm_disconnect(&comm);
        }
        if (kit_rank == 0)
            close(peer);
    }
    close(fd);
}

static void spawned(char *program, int several)
{
    MPI_Comm comm, all;
    char word[] = "child", *arguments[] = {word, NULL}, **each[] = {arguments, arguments},
         *commands[] = {program, program};
    const int ones[] = {1, 1};
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    const char *call = several ? "MPI_Comm_spawn_multiple" : "MPI_Comm_spawn";
    if (leaves_out("spawn"))
        return;
    const int code =
        several ? MPI_Comm_spawn_multiple(2, commands, each, ones, infos, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE)
                : MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE);
    if (!CHECK(code == MPI_SUCCESS, "%s: error class %d", call, kit_class(code)))
        return;
    MPI_Intercomm_merge(comm, 0, &all);
    check_comm(all, call);
    check_comm(comm, call);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&comm);
}

/* ---- windows with wide displacement units ---- */

static void check_window(MPI_Win win, const void *base, const char *call)
{
    const int next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 3 + kit_rank;
    const void *in = kit_put(&device, 0, numbers, sizeof numbers);
    MPI_Win_fence(0, win);
    MPI_Put(in, COUNT, MPI_INT, next, 0, COUNT, MPI_INT, win);
    MPI_Win_fence(0, win);
    (void)base;
    void *out = kit_put(&result, 0, NULL, sizeof numbers);
    MPI_Get(out, COUNT, MPI_INT, kit_rank, 0, COUNT, MPI_INT, win);
    MPI_Win_fence(0, win);
    const int *got = (const int *)(const void *)kit_get(&result, NULL);
    int i = 0;
    while (i < COUNT && got[i] == i * 3 + before)
        i++;
    CHECK(i == COUNT, "%s: integer %d of its window is %d", call, i, i < COUNT ? got[i] : 0);
}

static void windows(void)
{
    int (*create)(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *);
    int (*allocate)(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
    static const char *const names[] = {"MPI_Win_allocate_c", "MPI_Win_allocate_shared_c"};
    struct kit_buffer exposed;
    MPI_Win win;
    void *base;
    *(void **)(void *)&create = dlsym(RTLD_DEFAULT, "MPI_Win_create_c");
    if (create && kit_makes_windows()) {
        kit_open(&exposed, KIT_DEVICE, sizeof numbers);
        base = kit_put(&exposed, 0, NULL, sizeof numbers);
        if (CHECK(create(base, sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS,
                  "MPI_Win_create_c fails")) {
            check_window(win, base, "MPI_Win_create_c");
            MPI_Win_free(&win);
        }
        kit_close(&exposed);
    }
    for (int i = 0; i < 2 && kit_makes_windows(); i++) {
        *(void **)(void *)&allocate = dlsym(RTLD_DEFAULT, names[i]);
        if (allocate &&
            CHECK(allocate(sizeof numbers, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS,
                  "%s fails", names[i])) {
            check_window(win, base, names[i]);
            MPI_Win_free(&win);
        }
    }
}

static void preallocated(void)
{
    char name[96];
    MPI_File file;
    MPI_Offset size = 0;
    MPI_Status status;
    snprintf(name, sizeof name, "/tmp/made-%d", (int)getpid());
    if (!CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                             MPI_INFO_NULL, &file) == MPI_SUCCESS,
               "%s cannot be opened", name))
        return;
    CHECK(MPI_File_preallocate(file, 100000) == MPI_SUCCESS, "MPI_File_preallocate fails");
    MPI_File_get_size(file, &size);
    CHECK(size == 100000, "a file of %lld bytes that was made 100000 long", (long long)size);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 11;
    MPI_File_write_at(file, 500, kit_put(&device, 0, numbers, sizeof numbers), COUNT, MPI_INT, &status);
    MPI_File_read_at(file, 500, kit_put(&result, 0, NULL, sizeof numbers), COUNT, MPI_INT, &status);
    CHECK(memcmp(kit_get(&result, NULL), numbers, sizeof numbers) == 0, "what was written into it is not read again");
    MPI_File_close(&file);
}

static int child(void)
{
    MPI_Comm parent, all;
    MPI_Comm_get_parent(&parent);
    if (!CHECK(parent != MPI_COMM_NULL, "a spawned process has no parent"))
        return kit_end("made, a child");
    MPI_Intercomm_merge(parent, 1, &all);
    check_comm(all, "a child's merged communicator");
    check_comm(parent, "a child's communicator");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
    return kit_end("made, a child");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    kit_open(&device, KIT_DEVICE, sizeof numbers);
    kit_open(&result, KIT_DEVICE, sizeof numbers);
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child();
    intracommunicators();
    errors_returned();
    intercommunicators();
    joined();
    windows();
    preallocated();
    spawned(argv[0], 0);
    spawned(argv[0], 1);
    kit_close(&device);
    kit_close(&result);
    return kit_end("made");
}
