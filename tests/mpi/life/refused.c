/* Calls that are not staged yet, given device memory: MPI_ERR_BUFFER through the error handler of their object, one
 * line that names the call and the argument, no crash, and everything works afterwards. On host memory they are
 * untouched. */
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "kit.h"

static int handled;

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void win_handler(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
    handled++;
}

#define REFUSED(name, ...)                                                                                             \
    do {                                                                                                               \
        handled = 0;                                                                                                   \
        capture_start();                                                                                               \
        int class = kit_class(name(__VA_ARGS__));                                                                      \
        const char *text = capture_end();                                                                              \
        CHECK(class == MPI_ERR_BUFFER, #name ": error class %d, not MPI_ERR_BUFFER", class);                           \
        CHECK(handled == 1, #name ": the error handler ran %d times", handled);                                        \
        CHECK(capture_count(text, #name " ") == 1, #name ": said '%s'", text);                                         \
    } while (0)

/* Nothing of the device memory is reached: the MPI has the call. */
#define PASSED(name, ...)                                                                                              \
    do {                                                                                                               \
        handled = 0;                                                                                                   \
        int class = kit_class(name(__VA_ARGS__));                                                                      \
        CHECK(class == MPI_SUCCESS && handled == 0, #name " that reaches no memory: error class %d", class);           \
    } while (0)

static void nothing_of_windows(MPI_Win win, void *a)
{
    PASSED(MPI_Put, a, 0, MPI_DOUBLE, 0, 0, 0, MPI_DOUBLE, win);
    PASSED(MPI_Put, a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win);
    PASSED(MPI_Get, a, 0, MPI_DOUBLE, 0, 0, 0, MPI_DOUBLE, win);
    PASSED(MPI_Get, a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win);
    PASSED(MPI_Accumulate, a, 0, MPI_DOUBLE, 0, 0, 0, MPI_DOUBLE, MPI_SUM, win);
    PASSED(MPI_Accumulate, a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, MPI_SUM, win);
    PASSED(MPI_Get_accumulate, a, 1, MPI_DOUBLE, a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, MPI_SUM, win);
    PASSED(MPI_Fetch_and_op, a, a, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_SUM, win);
    PASSED(MPI_Compare_and_swap, a, a, a, MPI_INT, MPI_PROC_NULL, 0, win);
}

/* With MPI_NO_OP the origin is not read. */
static void not_read(MPI_Win win, void *a, double *host)
{
    host[0] = host[1] = -1;
    PASSED(MPI_Fetch_and_op, a, &host[0], MPI_DOUBLE, kit_rank, 0, MPI_NO_OP, win);
    PASSED(MPI_Get_accumulate, a, 1, MPI_DOUBLE, &host[1], 1, MPI_DOUBLE, kit_rank, 0, 1, MPI_DOUBLE, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    CHECK(host[0] == 0 && host[1] == 0, "MPI_NO_OP fetched %g and %g, not 0", host[0], host[1]);
}

static void windows(MPI_Win win, MPI_Win_errhandler_function *refused, void *a, void *host)
{
    MPI_Errhandler handler;
    MPI_Win_create_errhandler(refused, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_fence(0, win);
    nothing_of_windows(win, a);
    int put = MPI_Put(host, 1, MPI_DOUBLE, kit_rank, 8, 1, MPI_DOUBLE, win), length = 0;
    char why[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_string(put, why, &length);
    CHECK(put == MPI_SUCCESS, "MPI_Put of host memory: %s", why);
    MPI_Win_fence(0, win);
    not_read(win, a, host);
    MPI_Win_free(&win);
}

static void dynamic_window(MPI_Win win, void *a, void *host)
{
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int twice = 0; twice < 2; twice++) {
        CHECK(MPI_Win_attach(win, a, sizeof(double)) == MPI_SUCCESS, "MPI_Win_attach of device memory");
        CHECK(MPI_Win_attach(win, host, sizeof(double)) == MPI_SUCCESS, "MPI_Win_attach of host memory");
        CHECK(MPI_Win_detach(win, a) == MPI_SUCCESS, "MPI_Win_detach of device memory");
        CHECK(MPI_Win_detach(win, host) == MPI_SUCCESS, "MPI_Win_detach of host memory");
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    enum { COUNT = 8, ROOM = COUNT * 64 };
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain)
        kit_skip("refused", "needs the library in front");
    struct kit_buffer in, out, host_in, host_out;
    kit_open(&in, KIT_DEVICE, ROOM);
    kit_open(&out, KIT_DEVICE, ROOM);
    kit_open(&host_in, KIT_HOST, ROOM);
    kit_open(&host_out, KIT_HOST, ROOM);
    double zeros[ROOM / sizeof(double)] = {0};
    void *a = kit_put(&in, 0, zeros, ROOM), *b = kit_put(&out, 0, zeros, ROOM);
    double *host = kit_put(&host_in, 0, zeros, ROOM), *host2 = kit_put(&host_out, 0, zeros, ROOM);
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(comm_handler, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);

    MPI_Win win = MPI_WIN_NULL;
    /* An MPI may find no way to make windows: Open MPI 4.1 on some machines (MPI_ERR_WIN, also without Tutti). */
    if (MPI_Win_create(host, ROOM, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS) {
        windows(win, win_handler, a, host2);
        PASSED(MPI_Win_create, a, 0, 1, MPI_INFO_NULL, comm, &win);
        MPI_Win_free(&win);
    } else {
        puts("refused: this MPI makes no windows here: one-sided calls were left out");
    }
    if (MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win) == MPI_SUCCESS)
        dynamic_window(win, a, host);

    handled = 0;
    host[0] = 2;
    CHECK(MPI_Reduce(host, host2, 1, MPI_DOUBLE, MPI_SUM, 0, comm) == MPI_SUCCESS, "MPI_Reduce of host memory");
    CHECK(kit_rank != 0 || host2[0] == 2.0 * kit_size, "MPI_Reduce of host memory gave %g", host2[0]);
    double two = 2, sum = 0;
    b = kit_put(&out, 0, NULL, sizeof sum);
    int error = MPI_Allreduce(kit_put(&in, 0, &two, sizeof two), b, 1, MPI_DOUBLE, MPI_SUM, comm);
    memcpy(&sum, kit_get(&out, NULL), sizeof sum);
    CHECK(error == MPI_SUCCESS && sum == 2.0 * kit_size && handled == 0, "afterwards: class %d, %g", kit_class(error),
          sum);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
    kit_close(&in);
    kit_close(&out);
    kit_close(&host_in);
    kit_close(&host_out);
    return kit_end("refused");
}
