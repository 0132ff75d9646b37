/* Which of the calls in stream order a program of forest.c makes: those of mpix.h, or, with FOREST_PLAIN, those that
 * MPICH's header declares, where a stream is an int and nothing of Tutti is included. */
#ifndef TUTTI_TESTS_FOREST_H
#define TUTTI_TESTS_FOREST_H

#include "kit.h"

#ifdef FOREST_PLAIN
#define WEAK __attribute__((weak))
#if !defined(MPIX_STREAM_NULL)
#define MPIX_Stream      int
#define MPIX_STREAM_NULL 0x3c000000
#endif
WEAK int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int size);
WEAK int MPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);
WEAK int MPIX_Stream_free(MPIX_Stream *stream);
WEAK int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm);
WEAK int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                            MPI_Request *request);
WEAK int MPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                            MPI_Request *request);
WEAK int MPIX_Isend_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                              MPI_Request *request);
WEAK int MPIX_Irecv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Request *request);
WEAK int MPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
WEAK int MPIX_Send_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
WEAK int MPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                           MPI_Status *status);
WEAK int MPIX_Recv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                             MPI_Status *status);
WEAK int MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
WEAK int MPIX_Waitall_enqueue(int count, MPI_Request requests[], MPI_Status *statuses);
WEAK int MPIX_Allreduce_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                  MPI_Comm comm);
WEAK int MPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm);
#else
#include "tutti/mpix.h"
#endif

#endif
