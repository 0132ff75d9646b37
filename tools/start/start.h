/* Starts ranks: the launcher's command line and its environment. */
#ifndef TUTTI_TOOLS_START_H
#define TUTTI_TOOLS_START_H

#include "tools/start/launcher.h"

struct tool_start {
    const struct tool_mpi *mpi;
    const struct tool_program *program;
    int ranks;
    int preload;           /* 1: libtutti.so goes into the ranks */
    const char *arguments; /* more options for the launcher, as a shell would split them; NULL: none */
    char **command;        /* program and its arguments, NULL at the end */
};

/* A file of this installation, relative to the command: "lib/libtutti.so". Works in the build folder too. NULL if it
 * does not exist; otherwise freed by the caller. */
char *tool_installed_library(const char *name);
char *tool_installed_helper(const char *name);

/* The option --device: refuses an unknown device, and sets TUTTI_DEVICE. */
void tool_device(const char *word);

/* Refuses invalid settings and rules in the environment. */
void tool_check_settings(void);

/* Sets the environment of this process for the launcher and fills `line` with the command line to execute. */
void tool_start_line(const struct tool_start *start, struct tool_words *line);

#endif
