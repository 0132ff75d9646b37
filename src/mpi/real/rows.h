/* Picks rows of calls.def. A macro HOW_key is defined as `HOW, FORM` for each key that is wanted: a call's name, or a
 * word of its column `waits`. ROW(HOW_key, name, parameters, arguments) expands to MADE(HOW, FORM, name, parameters,
 * arguments); it expands to nothing where HOW_key is no macro, since the row is one argument shorter then. */
#ifndef TUTTI_MPI_ROWS_H
#define TUTTI_MPI_ROWS_H

#define NOT_MADE(...)
#define PICK(a, b, c, d, e, choice, ...) choice
#define ROW_(...)                        PICK(__VA_ARGS__, MADE, NOT_MADE, )(__VA_ARGS__)
#define ROW(...)                         ROW_(__VA_ARGS__)

#endif
