/* Memory that is never a device's: the heap that grows by brk(), and the program's static data. A page there that the
 * device did not know is ordinary memory of the host, as are later buffers on it: so the driver, which takes 0.2 to 2
 * us for each question, is not asked about them. It is asked again now and then, as the program may have registered the
 * page since: until then the page counts as ordinary memory, which is right, only slower. */
#ifndef TUTTI_CORE_ORDINARY_H
#define TUTTI_CORE_ORDINARY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TUTTI_ORDINARY_PAGES = 256, /* that are known at a time */
    TUTTI_ORDINARY_PAGE = 12,   /* 4 KiB */
    TUTTI_ORDINARY_LEFT = 8,    /* bits */
    TUTTI_ORDINARY_TIMES = 200  /* so often a page is believed to be ordinary */
};

/* The number of a page, and how often it is believed; 0: none. */
extern _Atomic uint64_t tutti_ordinary_pages[TUTTI_ORDINARY_PAGES];

int tutti_ordinary_holds_slow(uintptr_t at, uint64_t known);

/* Local, any thread, no lock. 1: the address is on such a page. 0: it is not, or nothing is known. */
static inline int tutti_ordinary_holds(const void *pointer)
{
    const uintptr_t at = (uintptr_t)pointer, page = at >> TUTTI_ORDINARY_PAGE;
    const uint64_t known =
        atomic_load_explicit(&tutti_ordinary_pages[page % TUTTI_ORDINARY_PAGES], memory_order_relaxed);
    return known >> TUTTI_ORDINARY_LEFT == page && known != 0 && tutti_ordinary_holds_slow(at, known);
}

/* The device does not know this address. Nothing is noted of addresses elsewhere. */
void tutti_ordinary_note(const void *pointer);
/* Pages of these bytes may be known to the device from now on. */
void tutti_ordinary_forget(const void *base, size_t bytes);

#endif
