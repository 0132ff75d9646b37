#include "completion.h"

#include <stddef.h>

#include "real_mpi.h"

const char *const completion_names[COMPLETIONS] = {"MPI_Wait",
                                                   "MPI_Test",
                                                   "MPI_Waitall",
                                                   "MPI_Testall",
                                                   "MPI_Waitany",
                                                   "MPI_Testany",
                                                   "MPI_Waitsome",
                                                   "MPI_Testsome",
                                                   "MPI_Request_get_status",
                                                   "MPI_Request_get_status_all",
                                                   "MPI_Request_get_status_any",
                                                   "MPI_Request_get_status_some"};

const struct completion_calls completion_library = {
    .wait = MPI_Wait,
    .test = MPI_Test,
    .waitall = MPI_Waitall,
    .testall = MPI_Testall,
    .waitany = MPI_Waitany,
    .testany = MPI_Testany,
    .waitsome = MPI_Waitsome,
    .testsome = MPI_Testsome,
    .get_status = MPI_Request_get_status,
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    .get_status_all = MPI_Request_get_status_all,
    .get_status_any = MPI_Request_get_status_any,
    .get_status_some = MPI_Request_get_status_some,
#endif
};

struct completion_calls completion_of_mpi(void)
{
    struct completion_calls calls = {.wait = NULL};
#define OWN(field, name) *(void **)&calls.field = real_mpi_function("P" name)
    OWN(wait, "MPI_Wait");
    OWN(test, "MPI_Test");
    OWN(waitall, "MPI_Waitall");
    OWN(testall, "MPI_Testall");
    OWN(waitany, "MPI_Waitany");
    OWN(testany, "MPI_Testany");
    OWN(waitsome, "MPI_Waitsome");
    OWN(testsome, "MPI_Testsome");
    OWN(get_status, "MPI_Request_get_status");
#undef OWN
    return calls;
}

int completion_is_there(const struct completion_calls *calls, enum completion call)
{
    return call == COMPLETION_GET_STATUS_ALL    ? calls->get_status_all != NULL
           : call == COMPLETION_GET_STATUS_ANY  ? calls->get_status_any != NULL
           : call == COMPLETION_GET_STATUS_SOME ? calls->get_status_some != NULL
                                                : 1;
}

int completion_looks(enum completion call)
{
    return call >= COMPLETION_GET_STATUS;
}

int completion_waits(enum completion call)
{
    return call == COMPLETION_WAIT || call == COMPLETION_WAITALL || call == COMPLETION_WAITANY ||
           call == COMPLETION_WAITSOME;
}

struct completed completion_make(const struct completion_calls *c, enum completion call, MPI_Request *request)
{
    MPI_Request list[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2] = {{.MPI_SOURCE = -77}, {.MPI_SOURCE = -77}}, *status = &statuses[0];
    struct completed done = {.code = MPI_SUCCESS, .flag = 1, .index = -5, .count = -5};
    int which[2] = {-5, -5};
    switch (call) {
    case COMPLETION_TEST:
        done.code = c->test(&list[1], &done.flag, status);
        break;
    case COMPLETION_WAITALL:
        done.code = c->waitall(2, list, statuses);
        status = &statuses[1];
        break;
    case COMPLETION_TESTALL:
        done.code = c->testall(2, list, &done.flag, statuses);
        status = &statuses[1];
        break;
    case COMPLETION_WAITANY:
        done.code = c->waitany(2, list, &which[0], status);
        break;
    case COMPLETION_TESTANY:
        done.code = c->testany(2, list, &which[0], &done.flag, status);
        break;
    case COMPLETION_WAITSOME:
        done.code = c->waitsome(2, list, &done.count, which, statuses);
        break;
    case COMPLETION_TESTSOME:
        done.code = c->testsome(2, list, &done.count, which, statuses);
        done.flag = done.count != 0;
        break;
    case COMPLETION_GET_STATUS:
        done.code = c->get_status(list[1], &done.flag, status);
        break;
    case COMPLETION_GET_STATUS_ALL:
        done.code = c->get_status_all(2, list, &done.flag, statuses);
        status = &statuses[1];
        break;
    case COMPLETION_GET_STATUS_ANY:
        done.code = c->get_status_any(2, list, &which[0], &done.flag, status);
        break;
    case COMPLETION_GET_STATUS_SOME:
        done.code = c->get_status_some(2, list, &done.count, which, statuses);
        done.flag = done.count != 0;
        break;
    default:
        done.code = c->wait(&list[1], status);
        break;
    }
    *request = list[1];
    done.index = which[0];
    done.status = *status;
    return done;
}
