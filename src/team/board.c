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

/* The word is written by a rank of this node that may need the core, and the transport need not bring it. So a look at
 * the transport and the peers, which may cost several system calls, is rare. */
int tutti_board_await(struct tutti_team *team, int r, const _Atomic uint32_t *word, uint32_t value)
{
    enum { SPINS = 16, LOOK_ROUNDS = 16, NAP_MOST_US = 1000 };
    struct board_goal goal = {word, value};
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_BOARD, UINT64_C(1) << r);
    for (unsigned round = 1; !board_is_reached(&goal); round++) {
        int status = TUTTI_OK;
        if (round < SPINS) {
            tutti_pause();
            continue;
        }
        if (round % LOOK_ROUNDS == 0)
            status = tutti_wait_test(&w);
        if (status != TUTTI_OK && !board_is_reached(&goal)) /* a rank may leave behind its last word */
            return tutti_team_break(team, status);
        tutti_pause_by(w.waited, 1, NAP_MOST_US);
    }
    return TUTTI_OK;
}
