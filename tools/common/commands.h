/* The commands, one function each: argv[0] is the command's own name. They return the exit status. */
#ifndef TUTTI_TOOLS_COMMANDS_H
#define TUTTI_TOOLS_COMMANDS_H

int tool_run(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_energy(int argc, char **argv);
int tool_tune(int argc, char **argv);

#endif
