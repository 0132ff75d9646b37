/* Calls that are told apart by what a macro HOW_name says, `HOW, FORM`, out of the rows of calls.def: ROW(HOW_name,
 * name, parameters, arguments) comes down to MADE(HOW, FORM, name, parameters, arguments), and to nothing where there
 * is no HOW_name, since the row is one argument shorter then. */
#ifndef TUTTI_MPI_ROWS_H
#define TUTTI_MPI_ROWS_H

#define NOT_MADE(...)
#define PICK(a, b, c, d, e, choice, ...) choice
#define ROW_(...)                        PICK(__VA_ARGS__, MADE, NOT_MADE, )(__VA_ARGS__)
#define ROW(...)                         ROW_(__VA_ARGS__)

#endif
