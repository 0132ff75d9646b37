#include "team/board.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "team/node.h"
#include "team/wait.h"

/* A descriptor of `bytes` zeros; -1: out of memory. */
static int board_make(size_t bytes)
{
    const int fd = memfd_create("tutti-board", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    close(fd);
    return -1;
}

static void *board_map(int fd, size_t bytes)
{
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

int tutti_board_open(struct tutti_team *team, size_t bytes, struct tutti_board *board)
{
    int theirs[TUTTI_MAX_RANKS], fine = 1;
    uint32_t all;
    *board = (struct tutti_board){.bytes = bytes};
    const int own = board_make(bytes);
    int status = tutti_team_pass(team, own, theirs);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        const int fd = r == team->rank ? own : theirs[r];
        board->of[r] = board_map(fd, bytes);
        fine &= board->of[r] != NULL;
        if (r != team->rank && fd >= 0)
            close(fd);
    }
    if (own >= 0)
        close(own);
    if (status != TUTTI_OK)
        (void)tutti_team_break(team, status);
    else
        status = tutti_team_vote(team, (uint32_t)fine, &all);
    if (status == TUTTI_OK && !all)
        status = TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK)
        tutti_board_close(board);
    return status;
}

void tutti_board_close(struct tutti_board *board)
{
    for (int r = 0; r < TUTTI_MAX_RANKS; r++) {
        if (board->of[r])
            munmap(board->of[r], board->bytes);
    }
    memset(board, 0, sizeof *board);
}

struct board_goal {
    const _Atomic uint32_t *word;
    uint32_t value;
};

static int board_is_reached(void *with)
{
    const struct board_goal *goal = with;
    return tutti_reached(atomic_load_explicit(goal->word, memory_order_acquire), goal->value);
}

int tutti_board_await(struct tutti_team *team, int r, const _Atomic uint32_t *word, uint32_t value)
{
    struct board_goal goal = {word, value};
    if (board_is_reached(&goal))
        return TUTTI_OK;
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_BOARD, UINT64_C(1) << r);
    const int status = tutti_await(&w, board_is_reached, &goal);
    if (status == TUTTI_OK || board_is_reached(&goal)) /* a rank may leave behind its last word */
        return TUTTI_OK;
    return tutti_team_break(team, status);
}
