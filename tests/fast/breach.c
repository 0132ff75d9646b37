/* Stands for a library of the project that breaks the law: by its name it counts as one. */
#include "breach.h"

#include <stdlib.h>

void *volatile breach_memory;

void breach(void)
{
    breach_memory = malloc(16);
    free(breach_memory);
}
