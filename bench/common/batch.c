#include "bench/common/batch.h"

struct bench_batch bench_batch_of(size_t bytes)
{
    const size_t k = 1024, m = k * k;
    return (struct bench_batch){
        .calls = bytes <= 128 * k  ? 50
                 : bytes <= 2 * m  ? 40
                 : bytes <= 8 * m  ? 20
                 : bytes <= 32 * m ? 10
                                   : 4,
        .replays = bytes <= 128 * k  ? 20
                   : bytes <= 2 * m  ? 8
                   : bytes <= 8 * m  ? 4
                   : bytes <= 32 * m ? 2
                                     : 1,
        .rounds = BENCH_BATCH_ROUNDS,
    };
}
