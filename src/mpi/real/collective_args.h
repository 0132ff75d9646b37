/* The arguments of collectives, in MPI's order, by the columns of their rows in collectives.def. COUNT
 * and DISP are the types of a count and of a displacement in the form at hand. */
#ifndef TUTTI_MPI_COLLECTIVE_ARGS_H
#define TUTTI_MPI_COLLECTIVE_ARGS_H

/* clang-format off */

/* ---- the parameters of a function ---- */

#define MOVER_PARAMETERS(from, to, send, receive)                                                                      \
    MOVER_SENT_##send MOVER_RECEIVED_##receive MOVER_ROOT_##from##_##to MPI_Comm comm

#define MOVER_SENT_SHARED
#define MOVER_SENT_BLOCK             const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
#define MOVER_SENT_BLOCKS            const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
#define MOVER_SENT_BLOCKS_V          const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[],              \
                                     MPI_Datatype sendtype,
#define MOVER_SENT_BLOCKS_W          const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[],              \
                                     const MPI_Datatype sendtypes[],
#define MOVER_SENT_BLOCKS_W_AINT     const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],          \
                                     const MPI_Datatype sendtypes[],
#define MOVER_RECEIVED_BLOCK         void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
#define MOVER_RECEIVED_BLOCKS        void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
#define MOVER_RECEIVED_BLOCKS_V      void *recvbuf, const COUNT recvcounts[], const DISP rdispls[],                    \
                                     MPI_Datatype recvtype,
#define MOVER_RECEIVED_BLOCKS_W      void *recvbuf, const COUNT recvcounts[], const DISP rdispls[],                    \
                                     const MPI_Datatype recvtypes[],
#define MOVER_RECEIVED_BLOCKS_W_AINT void *recvbuf, const COUNT recvcounts[], const MPI_Aint rdispls[],                \
                                     const MPI_Datatype recvtypes[],
#define MOVER_ROOT_ROOT_ALL          int root,
#define MOVER_ROOT_ALL_ROOT          int root,
#define MOVER_ROOT_ALL_ALL
#define MOVER_ROOT_NEIGHBOURS_NEIGHBOURS

/* ---- those parameters, passed on ---- */

/* As they are; or with n(x) around each count, to_each(x) around each list of COUNT or DISP that has an entry for each
 * receiver, and of_each(x) around each such list that has one for each sender. */
#define MOVER_ARGUMENTS(n, to_each, of_each, from, to, send, receive)                                                  \
    MOVER_SENDS_##send(n, to_each) MOVER_RECEIVES_##receive(n, of_each) MOVER_ROOTED_##from##_##to comm
#define MOVER_PASSED_ON(from, to, send, receive)                                                                       \
    MOVER_ARGUMENTS(MOVER_AS_IT_IS, MOVER_AS_IT_IS, MOVER_AS_IT_IS, from, to, send, receive)
#define MOVER_AS_IT_IS(x) x

#define MOVER_SENDS_SHARED(n, list)
#define MOVER_SENDS_BLOCK(n, list)            sendbuf, n(sendcount), sendtype,
#define MOVER_SENDS_BLOCKS(n, list)           sendbuf, n(sendcount), sendtype,
#define MOVER_SENDS_BLOCKS_V(n, list)         sendbuf, list(sendcounts), list(sdispls), sendtype,
#define MOVER_SENDS_BLOCKS_W(n, list)         sendbuf, list(sendcounts), list(sdispls), sendtypes,
#define MOVER_SENDS_BLOCKS_W_AINT(n, list)    sendbuf, list(sendcounts), sdispls, sendtypes,
#define MOVER_RECEIVES_BLOCK(n, list)         recvbuf, n(recvcount), recvtype,
#define MOVER_RECEIVES_BLOCKS(n, list)        recvbuf, n(recvcount), recvtype,
#define MOVER_RECEIVES_BLOCKS_V(n, list)      recvbuf, list(recvcounts), list(rdispls), recvtype,
#define MOVER_RECEIVES_BLOCKS_W(n, list)      recvbuf, list(recvcounts), list(rdispls), recvtypes,
#define MOVER_RECEIVES_BLOCKS_W_AINT(n, list) recvbuf, list(recvcounts), rdispls, recvtypes,
#define MOVER_ROOTED_ROOT_ALL                 root,
#define MOVER_ROOTED_ALL_ROOT                 root,
#define MOVER_ROOTED_ALL_ALL
#define MOVER_ROOTED_NEIGHBOURS_NEIGHBOURS

/* What large.c narrows, and the column `buffers`: calls.def. */
#define MOVER_TO_ROOT(x)         LIST(x)
#define MOVER_TO_ALL(x)          LIST(x)
#define MOVER_TO_NEIGHBOURS(x)   LIST_OUT(x)
#define MOVER_FROM_ROOT(x)       LIST(x)
#define MOVER_FROM_ALL(x)        LIST(x)
#define MOVER_FROM_NEIGHBOURS(x) LIST_IN(x)
#define MOVER_BUFFERS_SHARED        BUFFERS1(recvbuf)
#define MOVER_BUFFERS_BLOCK         BUFFERS2(sendbuf, recvbuf)
#define MOVER_BUFFERS_BLOCKS        BUFFERS2(sendbuf, recvbuf)
#define MOVER_BUFFERS_BLOCKS_V      BUFFERS2(sendbuf, recvbuf)
#define MOVER_BUFFERS_BLOCKS_W      BUFFERS2(sendbuf, recvbuf)
#define MOVER_BUFFERS_BLOCKS_W_AINT BUFFERS2(sendbuf, recvbuf)

/* ---- those parameters as a struct tutti_collective_args ---- */

#define MOVER_CALL(ID, called, from, to, send, receive)                                                                \
    (const struct tutti_collective_args){.collective = TUTTI_COLLECTIVE_##ID, .name = called, .comm = comm,            \
                                         .large = MOVER_IS_WIDE(COUNT), .root = MOVER_ROOT_OF_##from##_##to,           \
                                         .in = MOVER_IN_##send(receive), .out = MOVER_OUT_##receive}
#define MOVER_IS_WIDE(type) (sizeof(type) > sizeof(int))

#define MOVER_ROOT_OF_ROOT_ALL              root
#define MOVER_ROOT_OF_ALL_ROOT              root
#define MOVER_ROOT_OF_ALL_ALL               0
#define MOVER_ROOT_OF_NEIGHBOURS_NEIGHBOURS 0
#define MOVER_IN_SHARED(receive)            MOVER_OUT_##receive
#define MOVER_IN_BLOCK(receive)             MOVER_BUFFER(send)
#define MOVER_IN_BLOCKS(receive)            MOVER_BUFFER(send)
#define MOVER_IN_BLOCKS_V(receive)          MOVER_BUFFER_V(send, sdispls)
#define MOVER_IN_BLOCKS_W(receive)          MOVER_BUFFER_W(send, sdispls, DISP)
#define MOVER_IN_BLOCKS_W_AINT(receive)     MOVER_BUFFER_W(send, sdispls, MPI_Aint)
#define MOVER_OUT_BLOCK                     MOVER_BUFFER(recv)
#define MOVER_OUT_BLOCKS                    MOVER_BUFFER(recv)
#define MOVER_OUT_BLOCKS_V                  MOVER_BUFFER_V(recv, rdispls)
#define MOVER_OUT_BLOCKS_W                  MOVER_BUFFER_W(recv, rdispls, DISP)
#define MOVER_OUT_BLOCKS_W_AINT             MOVER_BUFFER_W(recv, rdispls, MPI_Aint)

#define MOVER_BUFFER(x)           tutti_buffer_of(x##buf, x##count, x##type)
#define MOVER_BUFFER_V(x, displs) tutti_buffer_v(x##buf, x##counts, displs, x##type, MOVER_IS_WIDE(COUNT))
#define MOVER_BUFFER_W(x, displs, displ)                                                                               \
    tutti_buffer_w(x##buf, x##counts, displs, x##types, MOVER_IS_WIDE(COUNT), MOVER_IS_WIDE(displ))

/* ---- a struct tutti_collective_args as arguments: `in` and `out` are its buffers, `into` is out->buffer ---- */

#define MOVER_FIELDS(from, to, send, receive) MOVER_GIVES_##send MOVER_TAKES_##receive MOVER_OF_##from##_##to args->comm

#define MOVER_GIVES_SHARED
#define MOVER_GIVES_BLOCK         in->buffer, (COUNT)in->count, in->type,
#define MOVER_GIVES_BLOCKS        in->buffer, (COUNT)in->count, in->type,
#define MOVER_GIVES_BLOCKS_V      in->buffer, in->counts, in->displs, in->type,
#define MOVER_GIVES_BLOCKS_W      in->buffer, in->counts, in->displs, in->types,
#define MOVER_GIVES_BLOCKS_W_AINT in->buffer, in->counts, in->displs, in->types,
#define MOVER_TAKES_BLOCK         into, (COUNT)out->count, out->type,
#define MOVER_TAKES_BLOCKS        into, (COUNT)out->count, out->type,
#define MOVER_TAKES_BLOCKS_V      into, out->counts, out->displs, out->type,
#define MOVER_TAKES_BLOCKS_W      into, out->counts, out->displs, out->types,
#define MOVER_TAKES_BLOCKS_W_AINT into, out->counts, out->displs, out->types,
#define MOVER_OF_ROOT_ALL         args->root,
#define MOVER_OF_ALL_ROOT         args->root,
#define MOVER_OF_ALL_ALL
#define MOVER_OF_NEIGHBOURS_NEIGHBOURS

/* ---- reductions: parameters, and those parameters passed on ---- */

#define REDUCTION_PARAMETERS(of, to)                                                                                   \
    const void *sendbuf, void *recvbuf, REDUCTION_##of MPI_Datatype datatype, MPI_Op op, REDUCTION_TO_##to MPI_Comm comm
#define REDUCTION_ELEMENTS COUNT count,
#define REDUCTION_SEGMENTS const COUNT recvcounts[],
#define REDUCTION_TO_ALL
#define REDUCTION_TO_ROOT  int root,

#define REDUCTION_ARGUMENTS(n, list, of, to)                                                                           \
    sendbuf, recvbuf, REDUCTION_OF_##of(n, list) datatype, op, REDUCTION_ROOT_##to comm
#define REDUCTION_OF_ELEMENTS(n, list) n(count),
#define REDUCTION_OF_SEGMENTS(n, list) list(recvcounts),
#define REDUCTION_ROOT_ALL
#define REDUCTION_ROOT_ROOT            root,
#define REDUCTION_PASSED_ON(of, to)    REDUCTION_ARGUMENTS(MOVER_AS_IT_IS, MOVER_AS_IT_IS, of, to)

/* ---- reductions: those parameters as a struct tutti_reduction_args, and that struct as arguments beside two buffers ---- */

#define REDUCTION_CALL(ID, called, of, to)                                                                             \
    (const struct tutti_reduction_args){.collective = TUTTI_COLLECTIVE_##ID, .name = called, .comm = comm,             \
                                        .large = MOVER_IS_WIDE(COUNT), .sendbuf = sendbuf, .recvbuf = recvbuf,         \
                                        .REDUCTION_HELD_##of, .root = REDUCTION_ROOT_OF_##to, .datatype = datatype,    \
                                        .op = op}
#define REDUCTION_HELD_ELEMENTS count = count
#define REDUCTION_HELD_SEGMENTS recvcounts = recvcounts
#define REDUCTION_ROOT_OF_ALL   0
#define REDUCTION_ROOT_OF_ROOT  root

#define REDUCTION_FIELDS(of, to)                                                                                       \
    sendbuf, recvbuf, REDUCTION_FIELD_##of args->datatype, args->op, REDUCTION_ROOT_FIELD_##to args->comm
#define REDUCTION_FIELD_ELEMENTS  (COUNT)args->count,
#define REDUCTION_FIELD_SEGMENTS  args->recvcounts,
#define REDUCTION_ROOT_FIELD_ALL
#define REDUCTION_ROOT_FIELD_ROOT args->root,
/* clang-format on */

#endif
