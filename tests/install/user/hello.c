/* Hello, as each OpenSHMEM has one among its examples: the version is asked of the preprocessor. */
#include <shmem.h>
#include <stdio.h>

#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION < 5
#error <shmem.h> tells no version
#endif
#if defined(SHMEM_SYNC_VALUE) && SHMEM_SYNC_SIZE > 0
static long sync_words[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
#endif

int main(void)
{
    char name[SHMEM_MAX_NAME_LEN];
    int major, minor;
    shmem_init();
    shmem_info_get_name(name);
    shmem_info_get_version(&major, &minor);
    printf("hello of %d from OpenSHMEM %d.%d, %s %s\n", shmem_n_pes(), major, minor, name,
           sync_words[0] == SHMEM_SYNC_VALUE ? SHMEM_VENDOR_STRING : "");
    shmem_finalize();
    return 0;
}
