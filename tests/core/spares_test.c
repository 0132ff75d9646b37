/* Threads take objects and give them back: no object is ever in two hands, none is lost. spares_test [seed] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/spares.h"
#include "support/check.h"
#include "support/random.h"

enum { THREADS = 6, OBJECTS = 9, HANDS = 3, ROUNDS = 60000 };

struct object {
    char name[24];
    atomic_int holders;
    struct object *next;
};
static struct object objects[OBJECTS];
static struct tutti_spares spares;
static atomic_long wrong, taken;

static void *work(void *with)
{
    uint64_t state = *(const uint64_t *)with;
    struct object *hand[HANDS] = {NULL};
    for (int round = 0; round < ROUNDS; round++) {
        struct object **const mine = &hand[random_next(&state) % HANDS];
        if (*mine) {
            atomic_fetch_sub(&(*mine)->holders, 1);
            tutti_spares_give(&spares, *mine, offsetof(struct object, next), 0);
            *mine = NULL;
        } else if ((*mine = tutti_spares_take(&spares, offsetof(struct object, next), 0)) != NULL) {
            wrong += atomic_fetch_add(&(*mine)->holders, 1) != 0;
            taken++;
        }
    }
    for (int h = 0; h < HANDS; h++) {
        if (!hand[h])
            continue;
        atomic_fetch_sub(&hand[h]->holders, 1);
        tutti_spares_give(&spares, hand[h], offsetof(struct object, next), 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint64_t seed[THREADS];
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int n = 0;
    printf("seed %llu\n", (unsigned long long)first);
    CHECK(tutti_spares_take(&spares, offsetof(struct object, next), 0) == NULL, "an empty list gives an object");
    for (int i = 0; i < OBJECTS; i++)
        tutti_spares_give(&spares, &objects[i], offsetof(struct object, next), 0);
    for (int t = 0; t < THREADS; t++) {
        seed[t] = first + (uint64_t)t * 7919;
        if (pthread_create(&threads[t], NULL, work, &seed[t]) != 0)
            return 2;
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    while (n <= OBJECTS && tutti_spares_take(&spares, offsetof(struct object, next), 0))
        n++;
    CHECK(n == OBJECTS, "%d objects of %d are left", n, OBJECTS);
    CHECK(wrong == 0, "%ld objects were in two hands", (long)wrong);
    CHECK(taken > 0, "no object was taken");
    printf("%ld taken, %ld checks\n", (long)taken, check_done());
    return check_failed() > 0;
}
