#include "marks.h"

#include <string.h>

#include "kit.h"

enum { MARKS = 21 << 20 };
static unsigned char marks[MARKS];

void marks_clear(void)
{
    memset(marks, 0, sizeof marks);
}

void marks_add(const struct marks_view *view, MPI_Offset first, long long n)
{
    int too_far = 0;
    for (MPI_Offset k = first; k < first + n; k++) {
        const MPI_Offset at =
            view->begin + (k / view->length * view->length * view->step + k % view->length) * view->etype;
        if (at + view->etype > MARKS)
            too_far = 1;
        else
            memset(marks + at, 1, (size_t)view->etype);
    }
    CHECK(!too_far, "an access reaches too far");
}

MPI_Offset marks_ordered(MPI_File file, long long n)
{
    MPI_Offset first = 0;
    long long before = 0;
    MPI_Exscan(&n, &before, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &first);
    return kit_rank > 0 ? first + before : first;
}

void marks_meet(void)
{
    MPI_Allreduce(MPI_IN_PLACE, marks, MARKS, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
}

int marks_has(MPI_Offset at)
{
    return at < MARKS && marks[at];
}
