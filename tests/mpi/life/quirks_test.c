/* Which row of quirks an MPI has, by the text that it gives as its version. The texts are those of the MPIs themselves,
 * cut where they go on with how they were built. */
#include "mpi/real/quirks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define OPENMPI  TUTTI_INTERFACE_OPENMPI
#define MPICH    TUTTI_INTERFACE_MPICH
#define STANDARD TUTTI_INTERFACE_STANDARD

static const struct {
    enum tutti_interface interface;
    const char *version, *mpi;
} known[] = {
    {OPENMPI, "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI"},
    {OPENMPI, "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11", "Open MPI"},
    {OPENMPI, "IBM Spectrum MPI 10.4", "Open MPI"},
    {OPENMPI, "", "Open MPI"},
    {MPICH, "MPICH Version:\t3.4.3\nMPICH Release date:\tThu Dec 16 11:20:57 CST 2021\n", "MPICH until 4.0"},
    {MPICH, "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH until 4.0"},
    {MPICH, "MPICH Version:      4.1.3\nMPICH Release date: Fri Feb  2\n", "MPICH since 4.1"},
    {MPICH, "MPICH Version:      4.3.2\nMPICH Release date: Mon Oct  6\n", "MPICH since 4.1"},
    {MPICH, "MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25 20:45:26 UTC 2026\n", "MPICH since 4.1"},
    {MPICH, "MPICH Version:      v4.3.0a1\n", "MPICH since 4.1"},
    {MPICH, "Site 7.1, MPICH Version:      4.0.3\n", "MPICH until 4.0"},
    {MPICH, "MPICH Version:      10.0\n", "MPICH since 4.1"},
    {MPICH, "MPICH Version:      99999999999999999999999.9\n", "MPICH until 4.0"}, /* no version: the oldest */
    {MPICH, "MPICH Version:      ", "MPICH until 4.0"},
    {STANDARD, "MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25 20:45:26 UTC 2026\n", "MPICH since 4.1"},
    {MPICH, "Intel(R) MPI Library 2021.18.1 for Linux* OS\n", "Intel MPI"},
    {MPICH, "Intel(R) MPI Library 2021.5 for Linux* OS\n", "Intel MPI"},
    {STANDARD, "Intel(R) MPI Library 2021.18.1 for Linux* OS\n", "Intel MPI by the standard ABI"},
    {MPICH, "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02\n", "an MPI that is not known"},
    {MPICH, "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n", "an MPI that is not known"},
    {MPICH, "Open MPI v6.0.0, by an interface that it did not have", "an MPI that is not known"},
    {STANDARD, "Open MPI v6.0.0, ident: 6.0.0", "an MPI that is not known"},
    {STANDARD, "", "an MPI that is not known"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct tutti_quirks *row = tutti_quirks_find(known[i].interface, known[i].version);
        if (strcmp(row->mpi, known[i].mpi) != 0)
            fail_msg("'%s' is treated as %s, not as %s", known[i].version, row->mpi, known[i].mpi);
    }
}

static const struct tutti_quirks *of(enum tutti_interface interface, const char *version)
{
    return tutti_quirks_find(interface, version);
}

/* What the house depends on, MPI by MPI. */
static void test_fields(void **state)
{
    (void)state;
    const struct tutti_quirks *openmpi = of(OPENMPI, "Open MPI v5.0.11, package"),
                              *old = of(MPICH, "MPICH Version:\t4.0.2\n"), *newer = of(MPICH, "MPICH Version: 4.1\n"),
                              *intel = of(MPICH, "Intel(R) MPI Library 2021.18.1 for Linux* OS\n"),
                              *by_standard = of(STANDARD, "Intel(R) MPI Library 2021.18.1 for Linux* OS\n"),
                              *unknown = of(MPICH, "another one");
    assert_true(openmpi->overruns && openmpi->opal_progress && openmpi->raises_on_world &&
                openmpi->refuses_alias_reduce);
    assert_false(openmpi->probe_keeps_cancelled || openmpi->reduce_in_place_crashes || openmpi->pack_lacks_bottom);
    assert_true(old->cuts_elements && newer->cuts_elements && old->reduce_in_place_crashes && old->pack_lacks_bottom &&
                old->probe_keeps_cancelled);
    assert_false(openmpi->cuts_elements || newer->reduce_in_place_crashes || newer->pack_lacks_bottom);
    assert_true(newer->probe_keeps_cancelled && newer->testall_lacks_collectives && old->testall_lacks_collectives &&
                intel->testall_lacks_collectives && !openmpi->testall_lacks_collectives);
    assert_false(old->overruns || old->opal_progress || old->raises_on_world || old->ends_on_errors);
    assert_true(intel->darray_is_own && intel->allgather_init_drops_types && intel->probe_keeps_cancelled);
    assert_false(intel->ends_on_errors || intel->pack_lacks_bottom || intel->overruns || intel->opal_progress);
    assert_true(by_standard->darray_is_own && by_standard->ends_on_errors && by_standard->pack_lacks_bottom);
    assert_true(openmpi->skips_empty && openmpi->skips_empty_bcast && newer->skips_empty_bcast);
    assert_false(old->skips_empty || old->skips_empty_bcast || newer->skips_empty);
    assert_string_equal(intel->offload_variable, "I_MPI_OFFLOAD");
    assert_string_equal(by_standard->offload_variable, "I_MPI_OFFLOAD");
    assert_null(openmpi->offload_variable);
    assert_null(newer->offload_variable);
    assert_true(unknown->reduce_in_place_crashes && unknown->pack_lacks_bottom && unknown->probe_keeps_cancelled);
    assert_false(unknown->opal_progress || unknown->ends_on_errors || unknown->darray_is_own);
}

/* An error ends the program there: nothing that is one may be asked. */
static void test_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct tutti_quirks *row = of(known[i].interface, known[i].version);
        const int asked = row->refuses_alias == TUTTI_QUIRK_ASK || row->refuses_alias_allreduce == TUTTI_QUIRK_ASK;
        assert_int_equal(asked, strstr(row->mpi, "Intel") == NULL);
        assert_int_equal(row->get_status_ends_persistent, TUTTI_QUIRK_ASK);
        assert_int_equal(row->packs_plainly, TUTTI_QUIRK_ASK);
        for (int call = 0; call < 12; call++)
            assert_int_equal(row->neighbour_order[call / 6][call / 3 % 2][call % 3], TUTTI_QUIRK_ASK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_fields),
                                       cmocka_unit_test(test_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
