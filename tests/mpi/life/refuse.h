/* Memory and descriptors that libtutti cannot have (refuse.c). All functions are local. */
#ifndef TUTTI_TESTS_REFUSE_H
#define TUTTI_TESTS_REFUSE_H

/* Before the others: finds libtutti in this process. */
void refuse_open(void);
/* The n-th thing from now on is refused, once; counted are those that are asked for while counting is on. */
void refuse_nth(long n);
void refuse_count(int on);
/* How many have been counted since refuse_nth(). */
long refuse_made(void);

#endif
