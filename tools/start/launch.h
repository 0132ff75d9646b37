/* The launcher as a child of the command: it gets the command's signals, and does not outlive the command. */
#ifndef TUTTI_TOOLS_LAUNCH_H
#define TUTTI_TOOLS_LAUNCH_H

#include <sys/types.h>

/* Starts `argv`. SIGTERM, SIGHUP and Ctrl-C of the command end it; so does the command's own end, for any reason.
 *
 * ends NULL (tutti run): the launcher has the terminal, whose Ctrl-C reaches it without the command, and the standard
 * input. ends, of a pipe: its standard output is ends[1], and its processes are a process group, which is ended as a
 * whole. `interrupt`: called at a first Ctrl-C, as part of a signal handler, in place of the end.
 *
 * One launcher at a time. Returns the child to wait for, or -1. */
pid_t tool_launch(char *const argv[], const int ends[2], void (*interrupt)(void));
/* Waits at most so many seconds, negative: without limit. 1 if it has ended. */
int tool_launch_wait(pid_t child, int seconds, int *status);
/* After its end, or to give it up: restores the signals. Returns the exit status of the command: the launcher's, or
 * 128 plus the number of the signal that ended the command. */
int tool_launch_end(int status);

#endif
