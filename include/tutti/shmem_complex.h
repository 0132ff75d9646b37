/* Sums and products of complex numbers that are objects of a class, for C++ (11 and later): std::complex, and classes
 * with the same memory, which have one parameter, real() and imag(). Such an object is two floats or doubles one after
 * the other, as a complex number of C. Included by shmem_generic.h and shmem_overloads.h alone. */
#ifndef TUTTI_SHMEM_COMPLEX_H
#define TUTTI_SHMEM_COMPLEX_H

/* A class of another size has no such function. */
#define TSHMEM_CLASS_OF(prefix, team, here, part, row, type, call)                                                     \
    template <template <class> class tshmem_class>                                                                     \
    here auto prefix##call(team tshmem_team, tshmem_class<part> *tshmem_dest, const tshmem_class<part> *tshmem_source, \
                           size_t tshmem_n)                                                                            \
        ->decltype(tshmem_dest->real() + tshmem_dest->imag(),                                                          \
                   sizeof(char[sizeof *tshmem_dest == sizeof(type) ? 1 : -1]), int())                                  \
    {                                                                                                                  \
        return prefix##row##call(tshmem_team, (type *)tshmem_dest, (const type *)tshmem_source, tshmem_n);             \
    }
#define TSHMEM_CLASS(prefix, team, here, call)                                                                         \
    TSHMEM_CLASS_OF(prefix, team, here, float, _complexf, tshmem_complexf_t, call)                                     \
    TSHMEM_CLASS_OF(prefix, team, here, double, _complexd, tshmem_complexd_t, call)
/* prefix: tshmem or shmem; team: its type of teams; here: the specifiers before a function. */
#define TSHMEM_CLASS_CALLS(prefix, team, here)                                                                         \
    TSHMEM_CLASS(prefix, team, here, _sum_reduce)                                                                      \
    TSHMEM_CLASS(prefix, team, here, _prod_reduce)                                                                     \
    TSHMEM_CLASS(prefix, team, here, _sum_reducescatter)                                                               \
    TSHMEM_CLASS(prefix, team, here, _prod_reducescatter)                                                              \
    TSHMEM_CLASS(prefix, team, here, _sum_inscan)                                                                      \
    TSHMEM_CLASS(prefix, team, here, _sum_exscan)

#endif
