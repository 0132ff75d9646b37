/* How failures reach the program: a line on standard error, then the error handler of the object of the call. */
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"

static int errors_class_of(int status)
{
    switch (status) {
    case TUTTI_OK:
        return MPI_SUCCESS;
    case TUTTI_ERR_PEER:
#ifdef MPIX_ERR_PROC_FAILED
        return MPIX_ERR_PROC_FAILED;
#else
        return MPI_ERR_OTHER;
#endif
    case TUTTI_ERR_MEMORY:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_OTHER;
    }
}

/* Codes for the statuses, so that MPI_Error_string says what has happened; 0: the class must do. */
enum { STATUSES = 32 };
static int codes[STATUSES];

/* 1 if the MPI knows the text of the code. */
static int error_name(int code, const char *text)
{
    char back[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    return tutti_next.MPI_Add_error_string(code, text) == MPI_SUCCESS &&
           tutti_next.MPI_Error_string(code, back, &length) == MPI_SUCCESS && strcmp(back, text) == 0;
}

/* A code of the class. Where the MPI keeps no text of one in a class of its own, it gets a class for each. */
static int errors_make(int class, const char *text)
{
    int code = 0;
    if (tutti_next.MPI_Add_error_code(class, &code) == MPI_SUCCESS && error_name(code, text))
        return code;
    return tutti_next.MPI_Add_error_class(&code) == MPI_SUCCESS && error_name(code, text) ? code : 0;
}

void tutti_errors_close(void)
{
    memset(codes, 0, sizeof codes);
}

void tutti_errors_open(void)
{
    static const int statuses[] = {
#define TUTTI_STATUS(id, number, text) number,
#include "tutti/status.def"
#undef TUTTI_STATUS
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const int status = statuses[i];
        char text[128];
        if (status == TUTTI_OK || status == TUTTI_ERR_MEMORY || status <= -STATUSES || codes[-status])
            continue;
        snprintf(text, sizeof text, "Tutti: %s", tutti_status_text(status));
        codes[-status] = errors_make(errors_class_of(status), text);
    }
}

int tutti_error_code(int status)
{
    return status < 0 && status > -STATUSES && codes[-status] ? codes[-status] : errors_class_of(status);
}

__thread int tutti_unraised;

static void errors_inside_again(const int *inside)
{
    tutti_inside = *inside;
}
/* To the end of the block the thread is in the program's code: a handler may call the MPI, throw an exception, or leave
 * by longjmp(), which ends no block. */
#define IN_HANDLER()                                                                                                   \
    tutti_found_end();                                                                                                 \
    __attribute__((cleanup(errors_inside_again), unused)) const int inside = tutti_inside;                             \
    tutti_inside = 0

int tutti_fail_comm(MPI_Comm comm, int code)
{
    IN_HANDLER();
    if (likely(!tutti_unraised))
        tutti_next.MPI_Comm_call_errhandler(comm, code);
    return code;
}

int tutti_fail_win(MPI_Win win, int code)
{
    IN_HANDLER();
    tutti_next.MPI_Win_call_errhandler(win, code);
    return code;
}

int tutti_fail_file(MPI_File file, int code)
{
    IN_HANDLER();
    tutti_next.MPI_File_call_errhandler(file, code);
    return code;
}

int tutti_mpi_version(void)
{
    int version = 3, part = 0;
    tutti_next.MPI_Get_version(&version, &part);
    return 100 * version + part;
}

/* MPI 4 raises errors of calls without an object on MPI_COMM_SELF, earlier versions on MPI_COMM_WORLD. */
int tutti_fail_self(int code)
{
    return tutti_fail_comm(tutti_mpi_version() >= 400 ? tutti_handles.self : tutti_handles.world, code);
}

void tutti_stage_report(const char *call, int status)
{
    tutti_error("%s: staging device memory failed: %s", call, tutti_status_text(status));
}

int tutti_stage_failed(const char *call, MPI_Comm comm, int status)
{
    tutti_stage_report(call, status);
    return tutti_fail_comm(comm, tutti_error_code(status));
}

void tutti_refuse(const char *call, const char *argument)
{
    tutti_error("%s was given device memory in %s; Tutti does not stage this call yet: copy to host memory first", call,
                argument);
    tutti_count(call, TUTTI_OUTCOME_REFUSED, "device memory: copy it to host memory first");
}
