/* Rules in force: sets of them, as they are tried. Each room registers the sections whose names it knows; of a section
 * the first rule that fits is taken. All are safe from any thread; registering is done before main(). */
#ifndef TUTTI_RULES_RULES_H
#define TUTTI_RULES_RULES_H

#include <stdint.h>

#include "core/reasons.h"
#include "rules/file.h"
#include "rules/grammar.h"

struct tutti_device;

/* Number of the choice of the first rule, from `from` on, that fits `bytes` in the section; *from is moved behind it.
 * -1 past the last. User's rules come first, then those measured on this machine, then the defaults of the device in
 * use; or those of tutti_rules_set() and the defaults. */
int tutti_rules_next(int section, size_t bytes, int *from);
/* The same for a call of so many ranks, where the room of the section is by_ranks; tutti_rules_next() passes over rules
 * that name numbers of ranks. */
int tutti_rules_next_of(int section, size_t bytes, int ranks, int *from);
/* The same for calls of any length. */
int tutti_rules_next_any(int section, int ranks, int *from);
/* Where the rules in force begin, for tutti_rules_next(): of calls that no communicator's rules hold for. */
int tutti_rules_in_force(void);
/* The choice of the first rule that fits `bytes`, or -1, kept for the next call of that length: of one section and one
 * thread, all zero at first. */
struct tutti_rules_last {
    size_t bytes;
    int rules, choice; /* rules: those in force + 1 */
};
static inline int tutti_rules_first(int section, size_t bytes, struct tutti_rules_last *last)
{
    int from = tutti_rules_in_force();
    if (last->rules != from + 1 || last->bytes != bytes) {
        *last = (struct tutti_rules_last){.bytes = bytes, .rules = from + 1};
        last->choice = tutti_rules_next(section, bytes, &from);
    }
    return last->choice;
}
/* Why a walk has ended at `from`: by a rule of the user's or one measured, or by the defaults. */
enum tutti_reason tutti_rules_why(int from);
/* 1 where the rule that a walk has taken last is one of TUTTI_RULES, or of tutti_rules_set(). */
int tutti_rules_is_users(int from);
/* A number that is equal where the rules in force are; where they begin, and where among them the defaults do, for
 * tutti_rules_next(). */
uint32_t tutti_rules_hash(int *begin, int *defaults_from);
/* The same number of the rules of one section alone, which the ranks of a job may have to agree on. */
uint32_t tutti_rules_section_hash(int section);
/* 1 if the first rule that fits some size is one for `choice`. */
int tutti_rules_choose(int section, int choice);
/* 1 if TUTTI_RULES alone choose `choice` for every size. Ranks compare TUTTI_RULES at the start, so all agree. */
int tutti_rules_users_only(int section, int choice);
/* Where the rules of a call begin: at `own`, those that its communicator was opened with, or see tutti_rules_follow().
 */
int tutti_rules_begin(int own);

/* Reads rules (the grammar of TUTTI_RULES) and says what is wrong with them; TUTTI_OK or TUTTI_ERR_SETTING. Local. */
int tutti_rules_check(const char *text, char *wrong, size_t size);
/* The default rules for a device (NULL: without one), as text. Static. */
const char *tutti_rules_default(const struct tutti_device *device);
/* The default rules for every device, behind them. */
const char *tutti_rules_common(void);

/* For measurements. From now on communicators that are opened (by their first call with device memory) take these rules
 * and then the defaults, instead of TUTTI_RULES and the file; NULL: those again. Communicators that are open keep
 * theirs. Local; the ranks compare rules when they open a communicator, and where they differ all use the defaults.
 * Texts are kept: at most 63 different ones in a process. TUTTI_ERR_SETTING and what is wrong in `wrong` where the
 * rules are, TUTTI_ERR_UNAVAILABLE past the 63. */
int tutti_rules_set(const char *text, char *wrong, size_t size);
/* For measurements. 1: from now on open communicators too take the rules in force when they are called, so that a
 * single communicator measures them all; 0: each its own again. Local; calls that follow must do so on all ranks, by
 * the same rules. */
void tutti_rules_follow(int on);

#endif
