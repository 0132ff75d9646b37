#include "kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/types.h"

int kit_open(struct tutti_transport *transport, struct kit *kit)
{
    *kit = (struct kit){NULL, NULL};
    int status = tutti_node_open(transport, &kit->node);
    if (!CHECK(status == TUTTI_OK, "node of rank %d: %s", transport->rank, tutti_status_text(status)))
        return 0;
    status = tutti_team_create(kit->node, transport, &kit->team);
    return CHECK(status == TUTTI_OK && kit->team->whole, "team of rank %d: %s", transport->rank,
                 tutti_status_text(status));
}

void kit_close(struct kit *kit)
{
    tutti_team_free(kit->team);
    tutti_node_close(kit->node);
}

struct tutti_arrival kit_call(uint64_t count)
{
    return (struct tutti_arrival){.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                  .type = TUTTI_TYPE_F32,
                                  .op = TUTTI_OP_SUM,
                                  .kind = TUTTI_ARRIVAL_DEVICE,
                                  .count = count};
}

int kit_meet(struct tutti_team *team, uint64_t count)
{
    struct tutti_arrival mine = kit_call(count);
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    tutti_team_arrive(team, &mine);
    return tutti_team_await(team, all);
}

static int captured = -1, before = -1;

void kit_capture_begin(void)
{
    fflush(stderr);
    captured = memfd_create("captured", MFD_CLOEXEC);
    fcntl(captured, F_SETFL, O_APPEND); /* without it lines of two ranks may land on each other */
    before = dup(STDERR_FILENO);
    dup2(captured, STDERR_FILENO);
}

char *kit_capture_end(void)
{
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    off_t size = lseek(captured, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    if (text && pread(captured, text, (size_t)size, 0) != size)
        text[0] = '\0';
    close(captured);
    if (text)
        fputs(text, stderr);
    return text;
}

int kit_count_names(const char *folder, const char *text)
{
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
        n += strstr(entry->d_name, text) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

int kit_count_descriptors(void)
{
    return kit_count_names("/proc/self/fd", "") - 3; /* ".", "..", and the folder's own */
}

void kit_sleep_us(unsigned us)
{
    const struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}
