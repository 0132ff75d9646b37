/* Strict mode: a peer's memory at the address of memory that the peer has freed can be mapped only after the mapping of
 * the freed memory has been released. CUDA's driver answers CUDA_ERROR_ALREADY_MAPPED in that case. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/host/host.h"
#include "device/host/imports.h"

struct host_import {
    struct host_import *next;
    int gpu;
    struct tutti_export what;
    void *at;
};
static struct host_import *host_imports;
static pthread_mutex_t host_imports_lock = PTHREAD_MUTEX_INITIALIZER;

/* The token begins with a number of the owner's process. */
static uint64_t import_owner(const struct tutti_export *what)
{
    uint64_t owner;
    memcpy(&owner, what->token, sizeof owner);
    return owner;
}

int tutti_host_import_can(int gpu, const struct tutti_export *what)
{
    const struct host_import *other = NULL;
    if (!tutti_settings()->host_strict || tutti_host_is_own(what)) /* ranks that are threads map nothing again */
        return 1;
    pthread_mutex_lock(&host_imports_lock);
    for (other = host_imports; other; other = other->next) {
        if (other->gpu == gpu && import_owner(&other->what) == import_owner(what) && other->what.id != what->id &&
            tutti_export_overlaps(&other->what, what))
            break;
    }
    pthread_mutex_unlock(&host_imports_lock);
    if (other)
        tutti_debug("host device: memory that a peer has freed is still mapped where its new memory lies");
    return !other;
}

void tutti_host_import_add(int gpu, const struct tutti_export *what, void *at)
{
    struct host_import *mine = tutti_settings()->host_strict && !tutti_host_is_own(what) ? malloc(sizeof *mine) : NULL;
    if (!mine)
        return;
    *mine = (struct host_import){.gpu = gpu, .what = *what, .at = at};
    pthread_mutex_lock(&host_imports_lock);
    mine->next = host_imports;
    host_imports = mine;
    pthread_mutex_unlock(&host_imports_lock);
}

void tutti_host_import_end(const void *at)
{
    pthread_mutex_lock(&host_imports_lock);
    struct host_import **link = &host_imports, *mine;
    while (*link && (*link)->at != at)
        link = &(*link)->next;
    if ((mine = *link))
        *link = mine->next;
    pthread_mutex_unlock(&host_imports_lock);
    free(mine);
}
