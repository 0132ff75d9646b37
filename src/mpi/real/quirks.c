#include "mpi/real/quirks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct tutti_quirks tutti_quirks;

enum { ASK = TUTTI_QUIRK_ASK, ANY = -1, VERSIONS = 1000 };
#define NUMBER(a, b) ((long)(a)*VERSIONS + (b))
#define EVERY        LONG_MAX

/* The first that fits is taken. A version that cannot be read is the oldest. */
static const struct row {
    int interface;     /* enum tutti_interface, or ANY */
    const char *words; /* in the text, the version behind them */
    long until;        /* NUMBER() of the last version */
    struct tutti_quirks quirks;
} rows[] = {
    /* And what is made of it, under other names. */
    {TUTTI_INTERFACE_OPENMPI,
     "",
     EVERY,
     {.mpi = "Open MPI",
      .raises_on_world = 1,
      .refuses_alias = ASK,
      .refuses_alias_allreduce = ASK,
      .refuses_alias_reduce = 1,
      .overruns = 1,
      .irecv_is_own = 1,
      .idup_goes_on = 1,
      .skips_empty = 1,
      .skips_empty_bcast = 1,
      .get_status_ends_persistent = ASK,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .packs_plainly = ASK,
      .opal_progress = 1}},
    {TUTTI_INTERFACE_STANDARD,
     "Intel",
     EVERY,
     {.mpi = "Intel MPI by the standard ABI",
      .skips_empty_bcast = 1,
      .looks_raise = 1,
      .testall_lacks_collectives = 1,
      .waits_raise_on_world = 1,
      .ends_on_errors = 1,
      .refuses_alias = 1,
      .refuses_alias_allreduce = 1,
      .probe_keeps_cancelled = 1,
      .irecv_is_own = 1,
      .get_status_ends_persistent = ASK,
      .allgather_init_drops_types = 1,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .darray_is_own = 1,
      .pack_lacks_bottom = 1,
      .packs_plainly = ASK,
      .offload_variable = "I_MPI_OFFLOAD"}},
    {ANY,
     "Intel",
     EVERY,
     {.mpi = "Intel MPI",
      .skips_empty_bcast = 1,
      .looks_raise = 1,
      .testall_lacks_collectives = 1,
      .waits_raise_on_world = 1,
      .refuses_alias = 1,
      .refuses_alias_allreduce = 1,
      .probe_keeps_cancelled = 1,
      .irecv_is_own = 1,
      .get_status_ends_persistent = ASK,
      .allgather_init_drops_types = 1,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .darray_is_own = 1,
      .packs_plainly = ASK,
      .offload_variable = "I_MPI_OFFLOAD"}},
    {ANY,
     "MPICH Version:",
     NUMBER(4, 0),
     {.mpi = "MPICH until 4.0",
      .rget_is_early = 1,
      .flush_local_is_early = 1,
      .session_needs_world = 1,
      .looks_raise = 1,
      .testall_lacks_collectives = 1,
      .waits_raise_on_world = 1,
      .refuses_alias = ASK,
      .refuses_alias_allreduce = ASK,
      .probe_keeps_cancelled = 1,
      .irecv_is_own = 1,
      .get_status_ends_persistent = ASK,
      .cuts_elements = 1,
      .keeps_pairs = 1,
      .persistent_read_once = 1,
      .reduce_in_place_crashes = 1,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .pack_lacks_bottom = 1,
      .packs_plainly = ASK}},
    {ANY,
     "MPICH Version:",
     EVERY,
     {.mpi = "MPICH since 4.1",
      .skips_empty_bcast = 1,
      .looks_raise = 1,
      .testall_lacks_collectives = 1,
      .refuses_alias = ASK,
      .refuses_alias_allreduce = ASK,
      .probe_keeps_cancelled = 1,
      .irecv_is_own = 1,
      .get_status_ends_persistent = ASK,
      .cuts_elements = 1,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .packs_plainly = ASK}},
    /* What costs little is done as for the worst. */
    {ANY,
     "",
     EVERY,
     {.mpi = "an MPI that is not known",
      .skips_empty_bcast = 1,
      .looks_raise = 1,
      .testall_lacks_collectives = 1,
      .waits_raise_on_world = 1,
      .refuses_alias = ASK,
      .refuses_alias_allreduce = ASK,
      .probe_keeps_cancelled = 1,
      .get_status_ends_persistent = ASK,
      .cuts_elements = 1,
      .reduce_in_place_crashes = 1,
      .neighbour_order = {{{ASK, ASK, ASK}, {ASK, ASK, ASK}}, {{ASK, ASK, ASK}, {ASK, ASK, ASK}}},
      .pack_lacks_bottom = 1,
      .packs_plainly = ASK}},
};

/* NUMBER() of the first version such as "4.1" in the text; 0: the text has no version. */
static long number_in(const char *text)
{
    char *end;
    text += strcspn(text, "0123456789");
    if (!*text)
        return 0;
    const long major = strtol(text, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return NUMBER(major < LONG_MAX / VERSIONS - 1 ? major : 0, minor >= 0 && minor < VERSIONS ? minor : VERSIONS - 1);
}

const struct tutti_quirks *tutti_quirks_find(enum tutti_interface interface, const char *version)
{
    const struct row *row = rows;
    for (;; row++) { /* the last one fits all */
        const char *words = strstr(version, row->words);
        if (words && (row->interface == ANY || row->interface == (int)interface) &&
            number_in(words + strlen(row->words)) <= row->until)
            return &row->quirks;
    }
}
