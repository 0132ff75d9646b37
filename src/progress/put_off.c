/* Work that a fiber does when its job is done. */
#include "progress/fiber.h"

int tutti_fiber_put_off(void (*run)(void *with), void *with)
{
    struct tutti_fiber *const fiber = tutti_fiber_here();
    if (!fiber)
        return 0;
    for (int i = 0; i < fiber->rests; i++) {
        if (fiber->rest[i].run == run && fiber->rest[i].with == with)
            return 1;
    }
    if (fiber->rests == TUTTI_FIBER_REST)
        return 0;
    fiber->rest[fiber->rests++] = (struct tutti_fiber_rest){run, with};
    return 1;
}

void tutti_fiber_catch_up(void)
{
    struct tutti_fiber *const fiber = tutti_fiber_here();
    while (fiber && fiber->rests > 0) {
        const struct tutti_fiber_rest rest = fiber->rest[--fiber->rests];
        rest.run(rest.with);
    }
}
