#include "core/nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63, FAR = LONGEST + 1 };

static int nearest_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t nearest_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* With swaps of neighbours as one change: the last three rows of the table are kept. */
static size_t nearest_distance(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return FAR;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = nearest_least(above[j - 1] + !nearest_same(a[i - 1], b[j - 1]),
                                   1 + nearest_least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && nearest_same(a[i - 1], b[j - 2]) && nearest_same(a[i - 2], b[j - 1]))
                row[j] = nearest_least(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

int tutti_nearest(const char *word, size_t length, const char *const names[], int n)
{
    int nearest = -1, best_alike = 0;
    size_t best = (length + 2) / 3;
    for (int i = 0; i < n; i++) {
        size_t d = nearest_distance(word, length, names[i]);
        int alike = strncasecmp(word, names[i], length) == 0 ? 2 : length > 0 && nearest_same(*word, *names[i]);
        if (d >= length || d >= strlen(names[i]) || d > best || (d == best && nearest >= 0 && alike <= best_alike))
            continue; /* what shares no letter with the word is not near it */
        best = d;
        best_alike = alike;
        nearest = i;
    }
    return nearest;
}
