#include "serve.h"
#include "shmem/proxy/proxy.h"
#include "support/cuda_device.h"

void bench_near_gpu(struct tutti_proxy *proxy)
{
    proxy->near = &tutti_near_device;
    proxy->device = &cuda_device;
}
