// A program written for OpenSHMEM in C++, compiled as it is: keys are sorted into buckets, one a PE. Every PE takes
// room in a bucket by an atomic and puts its keys there; the buckets, their sizes and the sum of all are compared.
#define real double // a macro of the program's
#include <shmem.h>
#undef real

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace
{
constexpr int KEYS = 5000, MOST = 1 << 16;

int fail(const char *what)
{
    std::fprintf(stderr, "FAILED on PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
    return 1;
}

template <class T> T *symmetric(std::size_t n)
{
    T *const memory = static_cast<T *>(shmem_calloc(n, sizeof(T)));
    if (!memory)
        fail("shmem_calloc");
    return memory;
}

std::vector<int> keys_of(int pe)
{
    std::vector<int> keys(KEYS);
    std::uint64_t x = 88172645463325252u + static_cast<std::uint64_t>(pe) * 7919;
    for (int &key : keys) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        key = static_cast<int>(x % MOST);
    }
    return keys;
}

/* Complex numbers are combined, and no element past them. */
template <class Part> void complex_sums()
{
    using number = std::complex<Part>;
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    number *const all = symmetric<number>(8);
    number sum(0), product(1);
    all[0] = number(static_cast<Part>(me + 1), 2);
    all[1] = number(1, static_cast<Part>(-me));
    all[4] = number(-7, 7);
    for (int pe = 0; pe < npes; pe++) {
        sum += number(static_cast<Part>(pe + 1), 2);
        product *= number(1, static_cast<Part>(-pe));
    }
    shmem_barrier_all();
    if (shmem_sum_reduce(SHMEM_TEAM_WORLD, all + 2, all, 1) != 0 || all[2] != sum)
        fail("shmem_sum_reduce of complex numbers");
    if (shmem_prod_reduce(SHMEM_TEAM_WORLD, all + 3, all + 1, 1) != 0 || all[3] != product || all[4] != number(-7, 7))
        fail("shmem_prod_reduce of complex numbers");
    if (shmem_sum_inscan(SHMEM_TEAM_WORLD, all + 5, all, 1) != 0 || all[5].imag() != static_cast<Part>(2 * (me + 1)))
        fail("shmem_sum_inscan of complex numbers");
    shmem_free(all);
}
} // namespace

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    int *const bucket = symmetric<int>(static_cast<std::size_t>(npes) * KEYS);
    long *const filled = symmetric<long>(1), *const counts = symmetric<long>(npes);
    long long *const sums = symmetric<long long>(2);
    std::uint64_t *const ready = symmetric<std::uint64_t>(1);
    shmem_barrier_all();

    const auto owner = [npes](int key) { return static_cast<int>(static_cast<long>(key) * npes / MOST); };
    std::vector<std::vector<int>> going(npes);
    for (const int key : keys_of(me))
        going[owner(key)].push_back(key);
    for (int i = 0; i < npes; i++) {
        const int pe = (me + i) % npes;
        const long at = shmem_atomic_fetch_add(filled, static_cast<long>(going[pe].size()), pe);
        shmem_put_signal_nbi(bucket + at, going[pe].data(), going[pe].size(), ready, 1, SHMEM_SIGNAL_ADD, pe);
    }
    shmem_quiet();
    shmem_signal_wait_until(ready, SHMEM_CMP_EQ, static_cast<std::uint64_t>(npes));

    std::vector<int> expected;
    for (int pe = 0; pe < npes; pe++)
        for (const int key : keys_of(pe))
            if (owner(key) == me)
                expected.push_back(key);
    std::sort(expected.begin(), expected.end());
    std::vector<int> mine(bucket, bucket + *filled);
    std::sort(mine.begin(), mine.end());
    if (mine != expected)
        fail("the keys of the bucket");

    shmem_fcollect(SHMEM_TEAM_WORLD, counts, filled, 1);
    long all = 0;
    for (int pe = 0; pe < npes; pe++)
        all += counts[pe];
    if (all != static_cast<long>(npes) * KEYS || shmem_g(filled, (me + 1) % npes) != counts[(me + 1) % npes])
        fail("shmem_fcollect");
    for (const int key : mine)
        sums[0] += key;
    shmem_sum_reduce(SHMEM_TEAM_WORLD, sums + 1, sums, 1);
    long long total = 0;
    for (int pe = 0; pe < npes; pe++)
        for (const int key : keys_of(pe))
            total += key;
    if (sums[1] != total)
        fail("shmem_sum_reduce");
    complex_sums<float>();
    complex_sums<double>();
    if (me == 0)
        std::printf("%ld keys sorted on %d PEs: passed\n", all, npes);
    shmem_free(bucket);
    shmem_finalize();
    return 0;
}
