/* Programs written for OpenSHMEM: how they are recognised, and OpenSHMEM's environment variables. */
#ifndef TUTTI_SHMEM_OPENSHMEM_H
#define TUTTI_SHMEM_OPENSHMEM_H

#include <stdint.h>

/* tutti_openshmem_named: 1 if the program uses OpenSHMEM's names (tutti_shmem_named()). The other: 1 if it also
 * loads and stores symmetric memory itself (tutti_shmem_openshmem()). */
int tutti_shmem_is_named(void);
int tutti_shmem_is_loading(void);
/* Replaces tshmem_ in a text by shmem_ if the program uses those names. Returns the text. */
char *tutti_shmem_own_names(char *text);
/* 1 after tutti_shmem_heap_on_host(). */
int tutti_shmem_host_heaps(void);
/* MiB of a heap at the start, by the settings; negative: SHMEM_SYMMETRIC_SIZE is not a size. */
int64_t tutti_shmem_heap_mib(void);
/* The text of SHMEM_SYMMETRIC_SIZE. */
const char *tutti_shmem_heap_text(void);
/* Prints what SHMEM_VERSION, SHMEM_INFO and SHMEM_DEBUG ask for; first: this is PE 0. */
void tutti_shmem_greet(int first);

#endif
