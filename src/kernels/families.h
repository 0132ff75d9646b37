/* The family of operators that serves a pair, see families.def, and its parameter at the launch. */
#ifndef TUTTI_KERNELS_FAMILIES_H
#define TUTTI_KERNELS_FAMILIES_H

#include <stdint.h>

/* The last parameter of the kernels of all families but SUM and PROD. */
struct tutti_sense {
    uint64_t flip; /* bits of an element's value that are turned round as it comes in, and back as it goes out */
    uint64_t mix;  /* LOGIC, BITS: the bits that are combined by XOR, not by AND */
};

/* How the CUDA kernels serve a pair: those of `type`, which has the elements' size, and of `family`. */
struct tutti_served {
    int type; /* enum tutti_type */
    const char *family;
    struct tutti_sense sense;
};

/* The pair is one for which tutti_has_kernel() holds; otherwise the type is TUTTI_TYPE_NONE. */
struct tutti_served tutti_kernel_served(int type, int op);

#endif
