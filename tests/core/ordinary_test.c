/* Which memory is known to be no device's: pages of the heap and of the program's static data that the device did not
 * know, and for how long. */
#include "core/ordinary.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/check.h"

enum { PAGE = 1 << TUTTI_ORDINARY_PAGE, PAGES = 8, FEW = 64 };

static char data[PAGES * PAGE], filled[FEW] = {1};

static int holds(const void *pointer)
{
    return tutti_ordinary_holds(pointer);
}

/* 1 if the page takes a place of the table. */
static int takes_place(const void *pointer)
{
    const uint64_t page = (uintptr_t)pointer >> TUTTI_ORDINARY_PAGE;
    return tutti_ordinary_pages[page % TUTTI_ORDINARY_PAGES] >> TUTTI_ORDINARY_LEFT == page;
}

static int believed(const void *pointer)
{
    int times = 0;
    tutti_ordinary_note(pointer);
    while (times <= TUTTI_ORDINARY_TIMES && holds(pointer))
        times++;
    return times;
}

static void pages_of(char *memory, const char *what)
{
    CHECK(!holds(memory) && !holds(memory + 2 * PAGE), "%s: nothing was noted", what);
    tutti_ordinary_note(memory);
    CHECK(holds(memory) && !holds(memory + 2 * PAGE), "%s: the page alone", what);
    tutti_ordinary_note(memory + 2 * PAGE);
    CHECK(holds(memory) && holds(memory + 2 * PAGE) && !holds(memory + PAGE), "%s: two pages", what);
    tutti_ordinary_forget(memory + 2 * PAGE, 1);
    CHECK(holds(memory) && !holds(memory + 2 * PAGE), "%s: registered memory is asked about again", what);
    tutti_ordinary_note(memory + 2 * PAGE);
    tutti_ordinary_forget(memory + 1, 2 * PAGE);
    CHECK(!holds(memory) && !holds(memory + 2 * PAGE), "%s: both ends of what is registered", what);
    CHECK(believed(memory) == TUTTI_ORDINARY_TIMES, "%s: a page is asked about again now and then", what);
    CHECK(believed(memory) == TUTTI_ORDINARY_TIMES, "%s: then it is known once more", what);
}

/* The end of the heap moves down below a page that was noted. Nothing else allocates meanwhile. */
static void shorter_heap(void)
{
    char *const end = sbrk(4 * PAGE);
    if (!CHECK(end != (void *)-1, "no heap"))
        return;
    char *const last = end + 3 * PAGE;
    tutti_ordinary_note(last);
    const int before = holds(last), moved = sbrk(-4 * PAGE) != (void *)-1, after = holds(last);
    CHECK(before && moved && !after, "a page behind the end of the heap: before %d, after %d", before, after);
    tutti_ordinary_note(last);
    CHECK(!holds(last), "it is not noted there");
    CHECK(sbrk(4 * PAGE) != (void *)-1 && holds(last), "the heap has grown again");
    CHECK(sbrk(-4 * PAGE) != (void *)-1, "no heap");
}

/* A forked child has its parent's heap, static data and record, and the end of a heap of its own. Bits of what is
 * wrong. */
static int child(void)
{
    char *const own = sbrk(2 * PAGE);
    int wrong = own == (void *)-1 || !holds(filled);
    tutti_ordinary_note(own);
    tutti_ordinary_note(data + PAGE);
    wrong |= (!holds(own) || !holds(data + PAGE)) << 1;
    return wrong | (sbrk(-2 * PAGE) == (void *)-1 || holds(own)) << 2;
}

static void *other_thread(void *pointer)
{
    CHECK(holds(pointer), "another thread knows it too");
    return NULL;
}

int main(void)
{
    char *const heap = sbrk(PAGES * PAGE); /* malloc() of a sanitizer takes other memory */
    char *const apart = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    int own = 0;
    if (!CHECK(heap != (void *)-1 && apart != MAP_FAILED, "no memory"))
        return 1;
    shorter_heap();
    pages_of(heap, "heap");
    pages_of(data, "cleared data");
    tutti_ordinary_note(filled);
    CHECK(holds(filled), "data with a value");
    CHECK(pthread_create(&thread, NULL, other_thread, filled) == 0 && pthread_join(thread, NULL) == 0, "a thread");
    check_in_child(child);
    CHECK(holds(filled) && !holds(data + PAGE), "the parent knows what it has noted itself");
    tutti_ordinary_note(apart);
    tutti_ordinary_note(&own);
    tutti_ordinary_note((void *)(uintptr_t)main);
    tutti_ordinary_note(NULL);
    CHECK(!holds(apart) && !holds(&own) && !holds((void *)(uintptr_t)main) && !holds(NULL) &&
              !holds((void *)UINTPTR_MAX),
          "mappings, the stack and code may become a device's");
    CHECK(takes_place(filled) && !takes_place(apart) && !takes_place(&own), "pages elsewhere take no place");
    munmap(apart, PAGES * PAGE);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
