/* What a test asks of the pretended driver; found by dlsym("fake_control"). */
#ifndef TUTTI_TESTS_GPU_FAKE_LIBCUDA_H
#define TUTTI_TESTS_GPU_FAKE_LIBCUDA_H

#include <dlfcn.h>
#include <stddef.h>

#include "core/status.h"
#include "device/device.h"

enum fake_kind { FAKE_MALLOC, FAKE_VMM, FAKE_VMM_PRIVATE, FAKE_POOL, FAKE_POOL_PRIVATE, FAKE_MANAGED, FAKE_PINNED };

struct fake_control {
    unsigned long calls;   /* of the driver so far */
    unsigned long fail_at; /* this call fails; 0: none */
    int fail_with;
    const char *failed;    /* name of the call that was made to fail */
    const char *fail_all;  /* all calls of this name fail so; NULL: none */
    unsigned long queries; /* cuPointerGetAttributes alone */
    char launched[96];     /* last kernel */
    unsigned long replays; /* launches of graphs */
    unsigned long sets;    /* of them that were given other parameters */
    unsigned long stale;   /* uses of graphs whose context has gone, or is another one: real drivers need not notice */
    unsigned blocks, threads, rows;
    void *stream;                 /* that it was launched in */
    unsigned char arguments[256]; /* its first bytes of arguments */
    size_t read;                  /* bytes of the parameter of a packing kernel */
    unsigned long long sense[2];  /* its second parameter, of kernels that have one */
    unsigned long plain_copies;   /* those in the legacy default stream */
    int early;                    /* 1: the last launch may start before the one before it has ended */
    int driver, major, made_for;  /* versions: of the driver, the GPUs, and what kernels were compiled for */
    int no_atomics;               /* 1: none over the link of the GPUs */
    int tells_atomics;            /* 1: the driver reports which links carry some atomics only */
    int some_atomics;             /* 1: the link is one with some */
    int hide_gpu;                 /* 1: only GPU 0 is visible */
    void *capturing;              /* stream that is captured, in global mode: unsafe calls fail where not relaxed */
    void *recorded;               /* stream in which an event was recorded last */
    int invalidated;              /* 1: that capture has been made invalid */
    unsigned long waits;          /* cuStreamSynchronize */
    unsigned long per_thread;     /* calls that made the per-thread default stream, had it not been there */
    int no_mps;                   /* 1: the processes of a GPU take turns there */
    unsigned long row_copies;     /* into the GPU, of two rows that are one run of bytes */
    unsigned long words;          /* that streams have been asked to write */
    unsigned long late_words;     /* so many words of all streams, with the copies before each, are not written before
                                     their stream is waited for, or further words follow; 0: all is done at once */
    unsigned late;                /* us that a copy out of a GPU takes in the legacy stream, after its call */
    unsigned before;              /* word in the place of the last such copy, before it */
    unsigned long completed;      /* allocations whose synchronous copies were made complete */
    unsigned long busy;           /* so many queries of events of the legacy stream find it busy */

    void *(*make_stream)(int gpu, unsigned flags);             /* a stream of the program */
    void *(*make)(int gpu, enum fake_kind kind, size_t bytes); /* memory of the program */
    void *(*make_context)(int gpu);                            /* of the program's own, beside the primary one */
    void (*end_context)(void *context);                        /* the next one has the same handle */
    void *(*make_in)(void *context, size_t bytes);             /* memory of such a context */
    unsigned (*flags_of)(const void *context);                 /* of such a context */
    void (*reset)(int gpu);                                    /* as cudaDeviceReset */
    void (*current)(int gpu);                                  /* as cudaSetDevice; -1: no context */
    int (*release)(int gpu);    /* gives up the primary context; how many hold it still */
    unsigned (*flags)(int gpu); /* of its primary context */
    int (*live)(void);          /* allocations, mappings, streams, events, modules, descriptors held */
};

/* Of the library that is the pretended driver. */
static inline struct fake_control *fake_of(void *library)
{
    struct fake_control *(*get)(void);
    *(void **)&get = dlsym(library, "fake_control");
    return get();
}

/* Opens the CUDA device over it. NULL: it was not loaded, or the device cannot be opened. */
static inline struct fake_control *fake_open(void *library)
{
    char why[256] = "";
    return library && tutti_device_cuda.open(why, sizeof why) == TUTTI_OK ? fake_of(library) : NULL;
}

#endif
