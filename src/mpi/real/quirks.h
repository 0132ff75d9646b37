/* Where MPIs differ from the standard or from each other: the one place that knows MPIs by name. MPI_Init chooses a row
 * by the text of the MPI's version; code that depends on a difference reads a field. Versions are those in which the
 * difference was seen. Knows no mpi.h, so that a test may choose rows too.
 *
 * Done under every MPI, because of one, and asked of no field:
 * - Parameters that ask for CUDA support are hidden while the MPI is initialized: Open MPI 4.1 without CUDA
 * crashes, 5.0 ends the program (asked.h).
 * - A receive from MPI_PROC_NULL is never made by MPI_Irecv in place of MPI_Recv: MPICH 4.0 gives it no status.
 * - No MPI_Isendrecv_replace is to and from MPI_PROC_NULL: MPICH copies the buffer, and 4.0 ends the process
 *   (sendrecv.inc).
 * - No lock of a window gets MPI_MODE_NOCHECK that the program does not give: a put of more than 8 KiB then never ends
 *   in windows of messages (osc/pt2pt) of Open MPI 4.1 (sync.c).
 * - A receive is completed before it is freed: MPICH 4.0 forgets a posted receive (self.h).
 * - A request of Tutti's own completes while its step is open: a thread of MPICH 4.0 that waits does not see what
 *   another one sends to its own process (self.h).
 * - A send to its own process may be done later than its data have left (rndv_progress.c): in MPICH when it is
 *   received.
 * - No message ends within a basic element of its receiver's type: an internal error of MPICH since 4.0 (endpoints.h).
 * - Persistent collectives are made with what goes in: MPICH 4.0 reads some buffers at once (collective.c).
 * - No other type stands for one of no elements than one of the same list: MPICH 4.0 takes all blocks of MPI_Ialltoallw
 *   in place for blocks of the first type (supplied_persistent.c).
 * - No call unpacks 0 bytes from external32: Intel MPI 2021 ends the program (pack.c).
 * - Calls in stream order give the MPI bytes in two buffers: where MPICH 4.0 cuts messages within a pair (keeps_pairs),
 *   a nonblocking collective may leave out an element, and its request has no error (collective.c: collective_open()).
 * - Texts of errors: MPICH until 4.1 keeps them in classes of the program alone, which are tried (errors.c).
 * - True bounds are not compared: Open MPI's are wrong for a stride of minus one byte, MPICH counts parts of no bytes
 *   (datatypes.c).
 * - Questions that may be errors are asked on a communicator of Tutti's own (self.h), and no handler of the program's
 * is set for them but where raises_on_world: MPICH treats a default handler and the same handler after it was set
 *   differently. */
#ifndef TUTTI_MPI_QUIRKS_H
#define TUTTI_MPI_QUIRKS_H

/* Of what header the front end is made. */
enum tutti_interface { TUTTI_INTERFACE_OPENMPI, TUTTI_INTERFACE_MPICH, TUTTI_INTERFACE_STANDARD };

/* A field of a row that is not known beforehand: the MPI is asked, at MPI_Init but where said, and its answer is stored
 * in tutti_quirks. */
enum { TUTTI_QUIRK_ASK = -1 };

/* Of several blocks from one rank, which is received at which place of the receiver's list of neighbours. */
enum tutti_neighbour_order {
    TUTTI_NEIGHBOURS_AS_SENT,  /* the first block at the first place: graphs under most MPIs */
    TUTTI_NEIGHBOURS_REVERSED, /* the first block at the last place: MPICH 4.0 */
    TUTTI_NEIGHBOURS_CROSSED /* per dimension: what leaves downwards arrives from above, as MPI 4.0 defines it: Open MPI
                                4.1 to 5.0, MPICH 5.0 */
};

struct tutti_quirks {
    const char *mpi; /* whose row it is */

    /* ---- errors ---- */

    /* An error ends the program with every handler: Intel MPI 2021 by the standard ABI. Tutti makes no call
     * that may be an error. */
    int ends_on_errors;
    /* Some errors are raised on MPI_COMM_WORLD instead of the call's communicator: Open MPI 4.1 to 5.0. */
    int raises_on_world;
    /* MPI_Request_get_status returns the error that a receive has ended with, and raises it each time, on
     * MPI_COMM_WORLD or MPI_COMM_SELF: MPICH 4.0 to 5.0, Intel MPI 2021. */
    int looks_raise;
    /* The completion of one nonblocking receive raises its error on MPI_COMM_WORLD instead of its communicator: MPICH
     * 4.0, Intel MPI 2021. */
    int waits_raise_on_world;

    /* ---- sessions ---- */

    /* Before a communicator of all processes there can be one of this process alone, without progress: MPI_Test of an
     * open request crashes, also if there is no other process. Other groups end the program: MPICH 4.0, not 5.0. */
    int session_needs_world;

    /* ---- equal send and receive buffers ---- */

    /* Refused by all collectives: MPICH 3.4 to 5.0, unless it was built without checks; Intel MPI 2021. */
    int refuses_alias;
    /* By MPI_Allreduce and MPI_Iallreduce of several elements: the same, and Open MPI 4.1 to 5.0. */
    int refuses_alias_allreduce;
    /* By MPI_Reduce, also where the others take them: Open MPI 4.1 to 5.0. */
    int refuses_alias_reduce;

    /* ---- messages ---- */

    /* A message that is longer than its buffer is written whole, over what lies behind: Open MPI 4.1 to 5.0, inside a
     * node, from 4 KiB on. */
    int overruns;
    /* The status of a probe keeps the mark of a cancelled message that it had: MPICH 4.0 to 5.0, Intel MPI 2021. */
    int probe_keeps_cancelled;
    /* Where MPI_Request_get_status has seen a persistent request complete, the completion call has no status of it:
     * MPICH 4.2 to 5.0, Intel MPI 2021. Asked when endpoints are opened. */
    int get_status_ends_persistent;

    /* Contiguous data above the eager limit are cut at any multiple of 16 bytes, and a fragment that ends within a
     * basic element of the receiver's type with gaps is an error (MPI_ERR_TRUNCATE) or is waited for: MPICH 4.0 to 5.0
     * over UCX (5.0 in some collectives alone). A type of the same signature is cut between its basic elements, even if
     * it has no gaps. */
    int cuts_elements;
    /* A pair such as MPI_DOUBLE_INT is one basic element: a fragment that ends within a pair is an error, and what is
     * sent as the pair's two elements is cut between them: MPICH 4.0, not 4.1. */
    int keeps_pairs;

    /* A receive from another rank than MPI_PROC_NULL has a handle of its own, even if it is complete at once: Open MPI,
     * MPICH, Intel MPI (whose sends may share one). So whether it is complete need not be asked, which polls all
     * networks. */
    int irecv_is_own;

    /* ---- collectives ---- */

    /* MPI_Testall fails once a persistent collective in its list is active (MPI_ERR_IN_STATUS): MPICH 4.0 to 5.0,
     * Intel MPI 2021. MPI_Test, Testsome and Waitall take them. */
    int testall_lacks_collectives;

    /* While it is open, MPI_Comm_idup starts collectives on its communicator, by MPI_Iallreduce: they take the messages
     * of nonblocking collectives that were started behind it, in an order of each rank's own: Open MPI 4.1 to 5.0. */
    int idup_goes_on;
    /* A rank with nothing to move in a nonblocking collective takes no tag for it, so that the next nonblocking
     * collective, MPI_Comm_dup or MPI_Comm_split on the communicator never ends (tagless.c). MPI_Ialltoallv and
     * MPI_Ialltoallw in place: Open MPI 4.1; 5.0 takes the tag, but an MPI_Ialltoallw of an even number of ranks never
     * ends there if the rank halfway round has blocks. MPI_Ireduce with MPI_PROC_NULL and count 0: Open MPI 4.1 to 5.0.
     */
    int skips_empty;
    /* The same of MPI_Ibcast of 0 elements, where other ranks have elements of no bytes or this one has MPI_PROC_NULL:
     * Open MPI 4.1 to 5.0, MPICH 5.0, Intel MPI 2021; not MPICH 4.0. */
    int skips_empty_bcast;

    /* MPI_Reduce in place crashes at a root other than 0: MPICH 3.4 and 4.0, not 4.1. */
    int reduce_in_place_crashes;
    /* Persistent collectives copy what is sent when they are made, and mix up their messages from the second start on:
     * MPICH 4.0 (MPI_Gather_init, _Allgather_init, _Scatter_init, others of 3 ranks; not 4.1). They are supplied
     * instead, with their large-count forms (of counts that an int holds). */
    int persistent_read_once;
    /* MPI_Allgather_init: each start but the first releases the types once too often: Intel MPI 2021.18. */
    int allgather_init_drops_types;
    /* [nonblocking][grid][MPI_Neighbor_alltoall, _alltoallv, _alltoallw]: enum tutti_neighbour_order. A grid of
     * dimensions that are one or two ranks wide, or a graph with repeated edges, has several blocks between two ranks;
     * MPIs differ in which is received where. Asked when endpoints are opened; TUTTI_QUIRK_ASK stays if the answer
     * matches no known order. */
    signed char neighbour_order[2][2][3];

    /* ---- datatypes ---- */

    /* Elements of a cyclic block follow each other at the extent of what faster dimensions made, which is that of their
     * whole array only where the process has all of it: Intel MPI 2021. */
    int darray_is_own;
    /* MPI_Pack from MPI_BOTTOM: MPICH 4.0 refuses it, Intel MPI 2021 by the standard ABI packs from another address. */
    int pack_lacks_bottom;
    /* The packed form is the elements' bytes in order and nothing else: all that are known. Asked at the first
     * MPI_Pack of device memory. */
    _Atomic(int) packs_plainly;

    /* ---- progress, memory of devices ---- */

    /* Its progress calls what opal_progress_register_lp was given (one call in eight rounds): Open MPI 4.1 to 5.0.
     * Otherwise MPIX_Async_start is tried, which MPICH has since 4.3. Others have nothing that is known. */
    int opal_progress;
    int rget_is_early;        /* the request of an MPI_Rget with derived types completes before the data are there */
    int flush_local_is_early; /* MPI_Win_flush_local returns before the data of gets are there */
    /* The variable of the environment by which it takes device memory; NULL: none is known. Intel MPI since 2019. */
    const char *offload_variable;
    /* Asked: it is set to something else than 0. Device memory is then taken wrongly by MPI_Bsend, MPI_Ssend and
     * MPI_Reduce_scatter, and a derived type that it takes for one with gaps is an error; host memory that kernels
     * reach counts as such memory. Seen of 2021.18, which ends some valid programs of host memory alone by a signal,
     * too. */
    int offloads;
};

/* Of the MPI of this process, from MPI_Init on. */
extern struct tutti_quirks tutti_quirks;

/* The row for an MPI of this interface that gives this text as its version. Never NULL. */
const struct tutti_quirks *tutti_quirks_find(enum tutti_interface interface, const char *version);

/* quirks_ask.c: in MPI_Init. Finds the row, asks what is to be asked then. */
void tutti_quirks_open(void);
/* The row of this MPI, unchanged. */
const struct tutti_quirks *tutti_quirks_row(void);

#endif
