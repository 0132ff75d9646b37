#include "p2p/ports.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/lives.h"
#include "core/status.h"
#include "device/device.h"

enum { PORTS = 256 };

/* Ports of one allocation. */
struct ports_block {
    struct ports_block *next;
    struct tutti_lane_port *memory;
    int gpu;
    unsigned life;                                 /* of the GPU */
    uint64_t used[PORTS / 64], before[PORTS / 64]; /* before: the port has been used */
};
static struct ports_block *ports_blocks;
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

static struct ports_block *ports_more(int gpu)
{
    static const struct tutti_lane_port zeros[PORTS];
    const struct tutti_device *device = tutti_device();
    struct ports_block *block = calloc(1, sizeof *block);
    void *memory = NULL;
    if (!block)
        return NULL;
    int status = device->memory.alloc_cleared ? device->memory.alloc_cleared(gpu, sizeof zeros, &memory)
                                              : device->memory.alloc(gpu, sizeof zeros, &memory);
    if (status == TUTTI_OK && !device->memory.alloc_cleared)
        status = device->memory.copy_now(memory, zeros, sizeof zeros);
    if (status != TUTTI_OK) {
        free(block);
        return NULL;
    }
    block->memory = memory;
    block->gpu = gpu;
    block->life = tutti_gpu_life(gpu);
    block->next = ports_blocks;
    ports_blocks = block;
    return block;
}

/* Number of a free port, which is taken; -1: none. */
static int ports_find(struct ports_block *block)
{
    for (int word = 0; word < PORTS / 64; word++) {
        if (~block->used[word] == 0)
            continue;
        const int bit = __builtin_ctzll(~block->used[word]);
        block->used[word] |= UINT64_C(1) << bit;
        return word * 64 + bit;
    }
    return -1;
}

struct tutti_lane_port *tutti_ports_take(int gpu)
{
    static const struct tutti_lane_port zero;
    int at = -1;
    pthread_mutex_lock(&ports_lock);
    struct ports_block *block = ports_blocks;
    for (; block; block = block->next) {
        if (block->gpu == gpu && block->life == tutti_gpu_life(gpu) && (at = ports_find(block)) >= 0)
            break;
    }
    if (!block && (block = ports_more(gpu)) != NULL)
        at = ports_find(block);
    struct tutti_lane_port *port = at < 0 ? NULL : &block->memory[at];
    const uint64_t mask = UINT64_C(1) << at % 64;
    if (port && (block->before[at / 64] & mask) &&
        tutti_device()->memory.copy_now(port, &zero, sizeof zero) != TUTTI_OK)
        port = NULL;
    if (port)
        block->before[at / 64] |= mask;
    pthread_mutex_unlock(&ports_lock);
    return port;
}

void tutti_ports_give(struct tutti_lane_port *port)
{
    pthread_mutex_lock(&ports_lock);
    for (struct ports_block *block = ports_blocks; port && block; block = block->next) {
        if (port < block->memory || port >= block->memory + PORTS || block->life != tutti_gpu_life(block->gpu))
            continue;
        const size_t at = (size_t)(port - block->memory);
        block->used[at / 64] &= ~(UINT64_C(1) << at % 64);
        break;
    }
    pthread_mutex_unlock(&ports_lock);
}

void tutti_ports_close(int alive)
{
    while (ports_blocks) {
        struct ports_block *block = ports_blocks;
        ports_blocks = block->next;
        if (alive && block->life == tutti_gpu_life(block->gpu))
            tutti_device()->memory.free(block->memory);
        free(block);
    }
}
