#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/host/program.h"
#include "support/check.h"

enum { CARDS = 64 };

static int on_cuda(void)
{
    const char *device = getenv("TUTTI_DEVICE");
    return device && strcmp(device, "cuda") == 0;
}

/* TUTTI_TEST_PLAIN: the program alone is tested, memory of GPUs is that of the host. */
static int plain(void)
{
    return check_setting("TUTTI_TEST_PLAIN", 0) != 0;
}

static void need(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "the program's own call failed: %s\n", what);
    abort();
}

/* ---- NVIDIA's driver: cuda.h is not needed ---- */

static struct {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*retain)(void **, int);
    int (*reset)(int);
    int (*state)(int, unsigned *, int *);
    int (*set)(void *);
    int (*current)(void **);
    int (*alloc)(unsigned long long *, size_t);
    int (*free)(unsigned long long);
    int (*copy)(unsigned long long, unsigned long long, size_t);
    int (*fill)(unsigned long long, unsigned char, size_t);
    int (*wait)(void);
} cuda;
static void *contexts[CARDS];

static void find(void *library, const char *name, void *entry)
{
    void *found = dlsym(library, name);
    need(found != NULL, name);
    memcpy(entry, &found, sizeof found);
}

static void cuda_begin(void)
{
    if (cuda.init)
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    need(library != NULL, "dlopen of libcuda.so.1");
    find(library, "cuInit", &cuda.init);
    find(library, "cuDeviceGetCount", &cuda.count);
    find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
    find(library, "cuDevicePrimaryCtxReset_v2", &cuda.reset);
    find(library, "cuDevicePrimaryCtxGetState", &cuda.state);
    find(library, "cuCtxSetCurrent", &cuda.set);
    find(library, "cuCtxGetCurrent", &cuda.current);
    find(library, "cuMemAlloc_v2", &cuda.alloc);
    find(library, "cuMemFree_v2", &cuda.free);
    find(library, "cuMemcpy", &cuda.copy);
    find(library, "cuMemsetD8_v2", &cuda.fill);
    find(library, "cuCtxSynchronize", &cuda.wait);
    need(cuda.init(0) == 0, "cuInit");
}

static void cuda_set(int gpu)
{
    cuda_begin();
    if (!contexts[gpu])
        need(cuda.retain(&contexts[gpu], gpu) == 0, "cuDevicePrimaryCtxRetain");
    need(cuda.set(contexts[gpu]) == 0, "cuCtxSetCurrent");
}

/* Makes the GPU the thread's for one call; NULL: it had none, and keeps this one. */
static void *cuda_enter(int gpu)
{
    void *before = NULL;
    cuda_begin();
    need(cuda.current(&before) == 0, "cuCtxGetCurrent");
    cuda_set(gpu);
    return before;
}

static void cuda_leave(void *before)
{
    if (before)
        need(cuda.set(before) == 0, "cuCtxSetCurrent");
}

/* ---- either ---- */

static int chosen = -1; /* of simulated ones */

void gpu_see(const int *cards, int n)
{
    char text[4 * CARDS] = "";
    for (int i = 0, at = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", i ? "," : "", cards[i]);
    if (plain())
        return;
    if (on_cuda())
        need(setenv("CUDA_VISIBLE_DEVICES", text, 1) == 0, "setenv");
    else
        need(tutti_host_program_see(text) == 0, "tutti_host_program_see");
}

int gpu_count(void)
{
    int count = 0;
    if (plain())
        return 0;
    if (!on_cuda())
        return tutti_host_program_count();
    cuda_begin();
    need(cuda.count(&count) == 0, "cuDeviceGetCount");
    return count;
}

void gpu_set(int gpu)
{
    chosen = gpu;
    if (on_cuda())
        cuda_set(gpu);
    else if (!plain())
        need(tutti_host_program_set(gpu) == 0, "tutti_host_program_set");
}

void *gpu_alloc(int gpu, size_t bytes)
{
    unsigned long long made = 0;
    void *memory = NULL;
    if (plain())
        return malloc(bytes);
    if (!on_cuda()) {
        const int before = chosen;
        gpu_set(gpu);
        need(tutti_host_program_alloc(bytes, &memory) == 0, "tutti_host_program_alloc");
        if (before >= 0)
            gpu_set(before);
        return memory;
    }
    void *before = cuda_enter(gpu);
    need(cuda.alloc(&made, bytes) == 0, "cuMemAlloc");
    cuda_leave(before);
    return (void *)made;
}

void gpu_free(int gpu, void *memory)
{
    if (plain()) {
        free(memory);
        return;
    }
    if (!on_cuda()) {
        need(tutti_host_program_free(memory) == 0, "tutti_host_program_free");
        return;
    }
    void *before = cuda_enter(gpu);
    need(cuda.free((unsigned long long)memory) == 0, "cuMemFree");
    cuda_leave(before);
}

void gpu_copy(int gpu, void *to, const void *from, size_t bytes)
{
    if (plain()) {
        memcpy(to, from, bytes);
        return;
    }
    if (!on_cuda()) {
        need(tutti_host_program_copy(to, from, bytes) == 0, "tutti_host_program_copy");
        return;
    }
    void *before = cuda_enter(gpu);
    need(cuda.copy((unsigned long long)to, (unsigned long long)from, bytes) == 0, "cuMemcpy");
    need(cuda.wait() == 0, "cuCtxSynchronize"); /* a short copy from ordinary memory may return before it is done */
    cuda_leave(before);
}

void gpu_copy_within(int gpu, void *to, const void *from, size_t bytes)
{
    if (!on_cuda()) {
        gpu_copy(gpu, to, from, bytes);
        return;
    }
    void *before = cuda_enter(gpu);
    need(cuda.copy((unsigned long long)to, (unsigned long long)from, bytes) == 0, "cuMemcpy");
    cuda_leave(before);
}

void gpu_fill(int gpu, void *to, unsigned char byte, size_t bytes)
{
    if (!on_cuda()) {
        void *from = malloc(bytes);
        need(from != NULL, "malloc");
        memset(from, byte, bytes);
        gpu_copy(gpu, to, from, bytes);
        free(from);
        return;
    }
    void *before = cuda_enter(gpu);
    need(cuda.fill((unsigned long long)to, byte, bytes) == 0, "cuMemsetD8");
    cuda_leave(before);
}

void gpu_reset(int gpu)
{
    gpu_set(gpu);
    chosen = -1;
    if (plain())
        return;
    if (!on_cuda()) {
        need(tutti_host_program_reset() == 0, "tutti_host_program_reset");
        return;
    }
    contexts[gpu] = NULL;
    need(cuda.reset(gpu) == 0, "cuDevicePrimaryCtxReset");
    need(cuda.set(NULL) == 0, "cuCtxSetCurrent");
}

int gpu_has_context(int gpu)
{
    unsigned flags;
    int active = -1;
    if (!on_cuda())
        return -1;
    if (!cuda.init)
        return 0;
    need(cuda.state(gpu, &flags, &active) == 0, "cuDevicePrimaryCtxGetState");
    return active;
}

unsigned long gpu_violations(void)
{
    return on_cuda() ? 0 : tutti_host_violations(-1);
}
