/* The launcher as a child of the command: signals are handed on to it, and it does not outlive the command. */
#ifndef TUTTI_TOOLS_LAUNCH_H
#define TUTTI_TOOLS_LAUNCH_H

#include <sys/types.h>

/* Starts `argv`. SIGTERM, SIGHUP and Ctrl-C of the command end it; so does the command's own end, whatever its cause.
 *
 * ends NULL (tutti run): it has the terminal, whose Ctrl-C reaches it without the command, and the standard input.
 * ends, of a pipe: its standard output is ends[1], and what it starts is in a process group of its own: all of that is
 * ended with it. `interrupt`: called at a first Ctrl-C, as part of a signal handler, in place of the end.
 *
 * One at a time. The child to be waited for, or -1. */
pid_t tool_launch(char *const argv[], const int ends[2], void (*interrupt)(void));
/* Waits at most so many seconds, negative: as long as it takes. 1 where it has ended. */
int tool_launch_wait(pid_t child, int seconds, int *status);
/* Where it has ended or is given up: signals are as before. Returns the exit status of the command: the launcher's, or
 * 128 and the number of the signal that ended the command. */
int tool_launch_end(int status);

#endif
