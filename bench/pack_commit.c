/* The time of MPI_Type_commit. Each type is made anew and freed, so that nothing of an earlier one is there. */
#include "core/clock.h"
#include "order.h"
#include "pack.h"

enum { MOST = 15, LEAST = 3 };

static double once(const struct pack_layout *layout, const char *description, char *base, int plain)
{
    MPI_Datatype type = layout->make(layout, description, base);
    uint64_t start = tutti_now_ns();
    int error = plain ? bench_mpi.Type_commit(&type) : MPI_Type_commit(&type);
    double took = (double)(tutti_now_ns() - start) * 1e-3;
    pack_mpi(error, "MPI_Type_commit");
    pack_mpi(MPI_Type_free(&type), "MPI_Type_free");
    return took;
}

void pack_commit_measure(const struct bench_plan *plan, const struct pack_layout *layout, const char *description,
                         char *base, struct pack_commit *out)
{
    double ours[MOST], plain[MOST];
    long n = 0;
    const uint64_t start = tutti_now_ns();
    once(layout, description, base, 0);
    while (n < MOST && (n < LEAST || (double)(tutti_now_ns() - start) < plan->seconds * 1e9)) {
        plain[n] = once(layout, description, base, 1);
        ours[n] = once(layout, description, base, 0);
        n++;
    }
    *out = (struct pack_commit){bench_median(ours, n), bench_median(plain, n), n};
}
