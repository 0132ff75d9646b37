/* Rules measured on this machine: searched after the user's and before the defaults. A text file of up to 64 KiB:
 *
 *     # comment, to the end of the line
 *     device: cuda, NVIDIA H200, sm_90, 132 multiprocessors, 140 GiB
 *     allreduce: 0-8k@ll 8k-512k@ll128 *@pipeline
 *     reduce: *@direct
 *     device: ... (of another machine that sees the same file)
 *     ...
 *
 * The first line that is not empty or a comment names a device as tutti_rules_device() does; the rules after it, in the
 * grammar of TUTTI_RULES, hold where the device in use has this very name. Where the ranks of a communicator have
 * different rules, all of them use the defaults. */
#ifndef TUTTI_RULES_FILE_H
#define TUTTI_RULES_FILE_H

#include "rules/grammar.h"

enum { TUTTI_RULES_BYTES = 64 << 10 };
/* Path of the file: TUTTI_RULES_FILE, otherwise .config/tutti/rules in the home folder. Local; TUTTI_ERR_UNAVAILABLE
 * without a home folder. */
int tutti_rules_path(char *path, size_t size);
/* Name of the device in use (its first GPU) on one line. Local; TUTTI_ERR_UNAVAILABLE before it is opened. */
int tutti_rules_device(char *text, size_t size);
/* Reads the rules of `device` out of the file into `rules` (TUTTI_RULES_BYTES are enough): an empty text where the file
 * is missing or holds none of them. Local. TUTTI_ERR_SETTING, and what is wrong in `wrong`, where the file cannot be
 * read, is no file of rules, or holds rules that are wrong. */
int tutti_rules_load(const char *path, const char *device, char *rules, size_t size, char *wrong, size_t wrong_size);

#endif
