/* The MPI's own header, so used that nothing of the MPI is linked: its calls are reached through tutti_next, its
 * predefined handles (addresses of data in Open MPI) through tutti_handles. One of TUTTI_FRONT_OPENMPI, _MPICH, _MPIABI
 * is defined. */
#ifndef TUTTI_MPI_MPI_API_H
#define TUTTI_MPI_MPI_API_H

#include TUTTI_MPI_HEADER

#include "mpi/real/quirks.h"

#ifdef TUTTI_FRONT_OPENMPI
#define TUTTI_INTERFACE TUTTI_INTERFACE_OPENMPI
#elif defined(TUTTI_FRONT_MPICH)
#define TUTTI_INTERFACE TUTTI_INTERFACE_MPICH
#else
#define TUTTI_INTERFACE TUTTI_INTERFACE_STANDARD
#endif

#ifdef TUTTI_FRONT_OPENMPI
/* Address of a data symbol of the loaded MPI; NULL if this version lacks it. */
void *tutti_ompi_symbol(const char *name);
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)tutti_ompi_symbol(#global))
#endif

/* Types that headers before MPI 4 lack; only pointers to them or values passed through are needed here. */
#if MPI_VERSION < 4
typedef void *tutti_mpi_session;
#define MPI_Session tutti_mpi_session
#endif

/* Types that are new in MPI 4.1; in MPICH's interface handles are constants, so an older header does for a newer MPI.
 */
#if defined(TUTTI_FRONT_MPICH) && !defined(MPI_LOGICAL1)
#define MPI_LOGICAL1 ((MPI_Datatype)0x4c000147)
#define MPI_LOGICAL2 ((MPI_Datatype)0x4c000248)
#define MPI_LOGICAL4 ((MPI_Datatype)0x4c000449)
#define MPI_LOGICAL8 ((MPI_Datatype)0x4c00084a)
#endif
/* Types that a header may lack: then there is nothing to reduce. */
#ifndef MPI_INTEGER1
#define MPI_INTEGER1 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER2
#define MPI_INTEGER2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER4
#define MPI_INTEGER4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER8
#define MPI_INTEGER8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL4
#define MPI_REAL4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL8
#define MPI_REAL8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX8
#define MPI_COMPLEX8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX16
#define MPI_COMPLEX16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_C_COMPLEX
#define MPI_C_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_DOUBLE_COMPLEX
#define MPI_CXX_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL1
#define MPI_LOGICAL1 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL2
#define MPI_LOGICAL2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL4
#define MPI_LOGICAL4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL8
#define MPI_LOGICAL8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_BOOL
#define MPI_CXX_BOOL MPI_DATATYPE_NULL
#endif
#ifndef MPI_2INTEGER
#define MPI_2INTEGER MPI_DATATYPE_NULL
#endif
#ifndef MPI_2REAL
#define MPI_2REAL MPI_DATATYPE_NULL
#endif
#ifndef MPI_2DOUBLE_PRECISION
#define MPI_2DOUBLE_PRECISION MPI_DATATYPE_NULL
#endif

/* What the door calls: the MPI's calls that Tutti wraps, and others that it needs. Passes replace
 * entries when the front end is opened, in the order of front.c. A call that this MPI lacks is NULL. */
struct tutti_next {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) int(*name) parameters;
#include "mpi/real/calls.inc"
#define TUTTI_NEED(name, parameters) int(*name) parameters;
#define TUTTI_MAY(name, parameters)  int(*name) parameters;
#include "mpi/real/needs.def"
#undef TUTTI_NEED
#undef TUTTI_MAY
};
extern struct tutti_next tutti_next;

/* Predefined handles, read once when the front end is opened, and no_bytes: between MPI_Init and MPI_Finalize, where
 * tutti_quirks.skips_empty_bcast, a type without elements; otherwise the same as no_type. */
struct tutti_handles {
    MPI_Comm world, self, no_comm;
    MPI_Datatype byte, packed, int64, no_type, no_bytes;
    MPI_Op no_op, min, max, sum, bor;
    MPI_Op op_reads, op_replaces; /* MPI_NO_OP, MPI_REPLACE */
    MPI_Request no_request;
    MPI_Info no_info;
    MPI_Errhandler errors_return, errors_are_fatal;
};
extern struct tutti_handles tutti_handles;

#endif
