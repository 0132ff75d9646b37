/* Marks of partitions, by ranges and by lists, compared with a plain count of each partition: what is refused marks
 * nothing. TUTTI_TEST_SEED, TUTTI_TEST_ROUNDS. */
#include "part/marks.h"

#include <stdio.h>

#include "support/check.h"
#include "support/random.h"

enum { MOST = 12 };

/* What a call of these partitions must return; if it is FINE they are counted. */
static enum tutti_part_wrong count_plainly(int counted[], int partitions, const int list[], int n)
{
    int now[MOST];
    memcpy(now, counted, sizeof now);
    for (int i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] >= partitions)
            return TUTTI_PART_RANGE;
        if (now[list[i]]++)
            return TUTTI_PART_TWICE;
    }
    memcpy(counted, now, sizeof now);
    return TUTTI_PART_FINE;
}

static void mark_some(struct tutti_part_marks *marks, int counted[], uint64_t *at)
{
    int list[MOST];
    const int n = (int)(random_next(at) % 5), by_list = random_next(at) % 2 == 0;
    const int first = (int)(random_next(at) % (MOST + 2)) - 1;
    for (int i = 0; i < n; i++)
        list[i] = by_list && random_next(at) % 3 == 0 ? (int)(random_next(at) % MOST) : first + i;
    if (!by_list && n == 0)
        return;
    const enum tutti_part_wrong wrong =
        by_list ? tutti_part_mark_list(marks, n, list) : tutti_part_mark(marks, first, first + n - 1);
    const enum tutti_part_wrong wanted = count_plainly(counted, marks->partitions, list, n);
    /* A range is looked at as a whole before its partitions. */
    CHECK(by_list || wanted == TUTTI_PART_FINE ? wrong == wanted : wrong != TUTTI_PART_FINE,
          "%d partitions from %d: %d", n, first, (int)wrong);
    int unready = 0;
    for (int p = 0; p < marks->partitions; p++) {
        unready += counted[p] == 0;
        CHECK(marks->ready[p] == counted[p], "partition %d is marked: %d", p, marks->ready[p]);
    }
    CHECK(marks->unready == unready, "%d are unready, not %d", marks->unready, unready);
}

static void follow(void)
{
    static const int list[] = {4, 5, 6, 8, 7};
    CHECK(tutti_part_marks_run(5, list, 0) == 3 && tutti_part_marks_run(5, list, 3) == 1 &&
              tutti_part_marks_run(5, list, 4) == 1,
          "partitions that follow each other");
}

int main(void)
{
    uint64_t at = check_seed();
    unsigned char ready[MOST] = {0};
    struct tutti_part_marks marks = {.ready = ready};
    for (long round = check_many("TUTTI_TEST_ROUNDS", 3000); round > 0 && check_failed() == 0; round--) {
        int counted[MOST] = {0};
        tutti_part_marks_start(&marks, (int)(random_next(&at) % (MOST + 1)));
        for (int i = 0; i < 10; i++)
            mark_some(&marks, counted, &at);
    }
    follow();
    printf("marks: %ld checks, %ld failed, seed %llu\n", check_done(), check_failed(),
           (unsigned long long)check_seed());
    return check_failed() > 0;
}
