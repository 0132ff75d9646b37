// mpix.h as C++: whatever the MPI declares by the same names.
#include <mpi.h>

#include "tutti/mpix.h"
#include "tutti/tutti.h"

int use(void *memory, int counts[])
{
    void *handle = nullptr;
    MPI_Info info;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int wrong = tutti_stream_create(&handle);
    wrong |= MPI_Info_create(&info);
    wrong |= MPIX_Info_set_hex(info, "value", &handle, static_cast<int>(sizeof handle));
    wrong |= MPIX_Stream_create(info, &stream);
    wrong |= MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    wrong |= MPIX_Allreduce_enqueue(memory, memory, 1, MPI_INT, MPI_SUM, comm);
    wrong |= MPIX_Reduce_enqueue_c(memory, memory, 1, MPIX_C_BF16, MPI_SUM, 0, comm);
    wrong |= MPIX_Reduce_scatter_enqueue(memory, memory, counts, MPI_INT, MPI_SUM, comm);
    wrong |= MPIX_Reduce_local_enqueue(memory, memory, 1, MPI_INT, MPI_SUM, comm);
    wrong |= MPIX_Bcast_enqueue_c(memory, 1, MPI_INT, 0, comm);
    wrong |= MPIX_Gatherv_enqueue(memory, 1, MPI_INT, memory, counts, counts, MPI_INT, 0, comm);
    wrong |= MPIX_Scatter_enqueue(memory, 1, MPI_INT, memory, 1, MPI_INT, 0, comm);
    wrong |= MPIX_Alltoallv_enqueue(memory, counts, counts, MPI_INT, memory, counts, counts, MPI_INT, comm);
    wrong |= MPIX_Barrier_enqueue(comm);
    wrong |= MPIX_Stream_free(&stream);
    return wrong;
}
