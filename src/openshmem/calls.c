/* OpenSHMEM's names that tutti/shmem.h has with a t in front: a function for each row of shmem_calls.def, but for those
 * that give a team back (teams.c). */
#include "openshmem/names.h"

/* PARAMETERS(types...): the types with names; ARGUMENTS(types...): those names, and of a team its number. */
#define COUNT_OF(a, b, c, d, e, f, g, h, i, n, ...) n
#define COUNT(...)                                  COUNT_OF(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PASTE(a, b)                                 a##b
#define SUFFIXED(name, n)                           PASTE(name, n)
#define PARAMETERS(...)                             SUFFIXED(PARAMETERS_, COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PARAMETERS_1(A)                             A a
#define PARAMETERS_2(A, B)                          A a, B b
#define PARAMETERS_3(A, B, C)                       A a, B b, C c
#define PARAMETERS_4(A, B, C, D)                    A a, B b, C c, D d
#define PARAMETERS_5(A, B, C, D, E)                 A a, B b, C c, D d, E e
#define PARAMETERS_6(A, B, C, D, E, F)              A a, B b, C c, D d, E e, F f
#define PARAMETERS_7(A, B, C, D, E, F, G)           A a, B b, C c, D d, E e, F f, G g
#define PARAMETERS_8(A, B, C, D, E, F, G, H)        A a, B b, C c, D d, E e, F f, G g, H h
#define ARGUMENTS(...)                              SUFFIXED(ARGUMENTS_, COUNT(__VA_ARGS__))
#define ARGUMENTS_1                                 GIVEN(a)
#define ARGUMENTS_2                                 GIVEN(a), GIVEN(b)
#define ARGUMENTS_3                                 GIVEN(a), GIVEN(b), GIVEN(c)
#define ARGUMENTS_4                                 GIVEN(a), GIVEN(b), GIVEN(c), GIVEN(d)
#define ARGUMENTS_5                                 GIVEN(a), GIVEN(b), GIVEN(c), GIVEN(d), GIVEN(e)
#define ARGUMENTS_6                                 GIVEN(a), GIVEN(b), GIVEN(c), GIVEN(d), GIVEN(e), GIVEN(f)
#define ARGUMENTS_7                                 GIVEN(a), GIVEN(b), GIVEN(c), GIVEN(d), GIVEN(e), GIVEN(f), GIVEN(g)
#define ARGUMENTS_8                                 GIVEN(a), GIVEN(b), GIVEN(c), GIVEN(d), GIVEN(e), GIVEN(f), GIVEN(g), GIVEN(h)

#define GIVEN(argument) _Generic((argument), shmem_team_t : TSHMEM_TEAM_NUMBER(argument), default : (argument))

#define TSHMEM_ROW_TEAM(...)
#define TSHMEM_ROW(result, name, ...)                                                                                  \
    result pshmem##name(PARAMETERS(__VA_ARGS__))                                                                       \
    {                                                                                                                  \
        return tshmem##name(ARGUMENTS(__VA_ARGS__));                                                                   \
    }                                                                                                                  \
    result shmem##name(__VA_ARGS__) TUTTI_WEAK_ALIAS("pshmem" #name);
#define TSHMEM_ROW_NONE(result, name)                                                                                  \
    result pshmem##name(void)                                                                                          \
    {                                                                                                                  \
        return tshmem##name();                                                                                         \
    }                                                                                                                  \
    result shmem##name(void) TUTTI_WEAK_ALIAS("pshmem" #name);
#include "tutti/shmem_calls.def"
