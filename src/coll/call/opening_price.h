/* When it pays to open a communicator's team and to load kernels: one rule, the rule of ski rental. A call that the MPI
 * makes instead, staged, loses so much; the opening takes so much; the team is opened when what its calls have lost is
 * what the opening takes. So a communicator's calls of a kind lose at most twice what the better way takes. Each kind
 * has an account of its own, since each needs kernels of its own: reductions, which gain by the team where ranks take
 * turns on a GPU, open none for moves, which gain nothing there.
 *
 * The first opening of a process is lent, where the rank has its GPU for itself: it is made when the calls have lost a
 * small part of it. A program that times some calls behind a warm-up so sees what later ones take. A program that ends
 * soon after has lost that price, once. */
#ifndef TUTTI_COLL_CALL_OPENING_PRICE_H
#define TUTTI_COLL_CALL_OPENING_PRICE_H

#include <stdint.h>

enum tutti_opening_kind { TUTTI_OPENING_REDUCES, TUTTI_OPENING_MOVES, TUTTI_OPENING_KINDS };
/* Processes that work on the rank's GPU: this one alone; others beside it, as with MPS; others in turns with it. */
enum tutti_opening_gpu { TUTTI_OPENING_ALONE, TUTTI_OPENING_BESIDE, TUTTI_OPENING_TURNS, TUTTI_OPENING_GPUS };
/* What is to be opened: nothing; a team whose ranks have mapped an earlier one's channel; another one; the first of the
 * process, with its kernels. */
enum tutti_opening_team {
    TUTTI_OPENING_NO_TEAM,
    TUTTI_OPENING_KNOWN_TEAM,
    TUTTI_OPENING_NEW_TEAM,
    TUTTI_OPENING_FIRST_TEAM
};

/* ns that a staged call loses beside one by kernels, on a rank that copies so many bytes out of its GPU and into it; 0:
 * it makes no such copy. ordered: Tutti makes the call in rank order, not the MPI. */
uint64_t tutti_opening_loses(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind, int ordered, uint64_t out,
                             uint64_t in);
/* ns that it takes to open the team, and to load the kernels of a kind if they are lacking. */
uint64_t tutti_opening_takes(enum tutti_opening_team team, int lacks_kernels);

/* ns that calls of the kind must have lost before the team opens, or the kernels are loaded. */
uint64_t tutti_opening_due(enum tutti_opening_gpu gpu, enum tutti_opening_kind kind, enum tutti_opening_team team,
                           int lacks_kernels);

#endif
