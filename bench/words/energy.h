/* The ways and the parts of energy as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_ENERGY_H
#define TUTTI_BENCH_WORDS_ENERGY_H

enum energy_way {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) ENERGY_##id,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
    ENERGY_WAYS
};

/* What is added up over a window. INTEGRAL: of the GPUs' power; COUNTER: of their energy counters. CPU: processor
 * seconds of the ranks. */
enum energy_part { ENERGY_COUNTER, ENERGY_INTEGRAL, ENERGY_PACKAGE, ENERGY_DRAM, ENERGY_CPU, ENERGY_PARTS };
#define ENERGY_PART_NAMES "gpu", "gpu_integral", "package", "dram", "cpu"

#endif
