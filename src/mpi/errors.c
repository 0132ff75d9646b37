/* How failures reach the program: a line on standard error, then the error handler of the object of the call. */
#include "core/log.h"
#include "mpi/door.h"

int tutti_error_code(int status)
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

int tutti_fail_comm(MPI_Comm comm, int code)
{
    tutti_real.MPI_Comm_call_errhandler(comm, code);
    return code;
}

int tutti_fail_win(MPI_Win win, int code)
{
    tutti_real.MPI_Win_call_errhandler(win, code);
    return code;
}

int tutti_fail_file(MPI_File file, int code)
{
    tutti_real.MPI_File_call_errhandler(file, code);
    return code;
}

int tutti_mpi_version(void)
{
    int version = 3, part = 0;
    tutti_real.MPI_Get_version(&version, &part);
    return 100 * version + part;
}

/* MPI 4 raises errors of calls without an object on MPI_COMM_SELF, earlier versions on MPI_COMM_WORLD. */
int tutti_fail_self(int code)
{
    return tutti_fail_comm(tutti_mpi_version() >= 400 ? tutti_handles.self : tutti_handles.world, code);
}

void tutti_refuse(const char *call, const char *argument)
{
    tutti_error("%s was given device memory in %s; Tutti does not stage this call yet: copy to host memory first", call,
                argument);
    tutti_count(call, "refused", "device memory");
}
