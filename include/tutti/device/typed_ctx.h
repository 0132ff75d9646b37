/* tshmem_ctx_TYPE_put_warp and its like: the typed calls with a context of one group. Included by tutti/device.h behind
 * forms_ctx.h, with TSHMEM_ENDED(call): a name with the group's ending. Leaves TSHMEM_NAME, TSHMEM_PLAIN and TSHMEM_DO
 * undefined. */
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO
#define TSHMEM_CTX_FORMS
#define TSHMEM_FIRST            tshmem_ctx_t ctx,
#define TSHMEM_GIVEN            ctx,
#define TSHMEM_NAME(type, call) TSHMEM_ENDED(tshmem_ctx_##type##_##call)
#define TSHMEM_PLAIN(call)      TSHMEM_ENDED(tshmem_ctx_##call)
#define TSHMEM_DO(call)         TSHMEM_CTX_ENDED(TSHMEM_CTX_##call)
#define TSHMEM_CTX_ENDED(name)  TSHMEM_ENDED(name)
#include "tutti/shmem_typed.h"
#undef TSHMEM_CTX_ENDED
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO
#undef TSHMEM_CTX_FORMS
