/* Programs written for OpenSHMEM: how they are told from others, and the environment variables that it names. */
#ifndef TUTTI_SHMEM_OPENSHMEM_H
#define TUTTI_SHMEM_OPENSHMEM_H

#include <stdint.h>

/* 1 where the program has OpenSHMEM's names (tutti_shmem_named()); where it loads and stores symmetric memory itself,
 * too (tutti_shmem_openshmem()). */
int tutti_shmem_is_named(void);
int tutti_shmem_is_loading(void);
/* Names in a text as the program writes them: shmem_ in place of tshmem_ where it has those. Returns the text. */
char *tutti_shmem_own_names(char *text);
/* 1 after tutti_shmem_heap_on_host(). */
int tutti_shmem_host_heaps(void);
/* MiB of a heap at the start, by the settings; negative: SHMEM_SYMMETRIC_SIZE is no size. */
int64_t tutti_shmem_heap_mib(void);
/* The text of SHMEM_SYMMETRIC_SIZE. */
const char *tutti_shmem_heap_text(void);
/* Does what SHMEM_VERSION, SHMEM_INFO and SHMEM_DEBUG ask for; first: this is PE 0. */
void tutti_shmem_greet(int first);

#endif
