#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shmem/kit.h"

static int before = -1, heard = -1;

void shmem_hush_begin(void)
{
    heard = memfd_create("said", MFD_CLOEXEC);
    fflush(stderr);
    before = dup(STDERR_FILENO);
    dup2(heard, STDERR_FILENO);
}

long shmem_hush_end(void)
{
    char text[4096];
    long lines = 0;
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    lseek(heard, 0, SEEK_SET);
    for (ssize_t n; (n = read(heard, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    }
    close(heard);
    return lines;
}
