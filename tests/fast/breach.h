#ifndef TUTTI_TESTS_BREACH_H
#define TUTTI_TESTS_BREACH_H

/* One allocation, given back. */
void breach(void);

#endif
