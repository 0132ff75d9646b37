/* A call that is named as Open MPI 4.1's extension MPIX_Allreduce_init and has other handles, as a library of the
 * program's may have (MPI Advance). It keeps its arguments for same_names.c. */
#include "same_name.h"

struct same_name_call same_name_call;

int MPIX_Allreduce_init(const void *send, void *receive, int count, long type, long op, struct same_name_comm *comm,
                        struct same_name_info *info, struct same_name_request **request)
{
    same_name_call = (struct same_name_call){send, receive, count, type, op, comm, info, request};
    return 77;
}
