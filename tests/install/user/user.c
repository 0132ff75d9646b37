/* Uses the installed library: device memory there and back. */
#include <stdio.h>
#include <string.h>
#include <tutti/tutti.h>

int main(void)
{
    char to[64] = "", from[64] = "there and back";
    void *device = NULL;
    int status = tutti_alloc(sizeof(from), &device);

    if (!status)
        status = tutti_copy(device, from, sizeof(from));
    if (!status)
        status = tutti_copy(to, device, sizeof(to));
    if (status || strcmp(to, from) || !tutti_is_device(device) || tutti_is_device(to)) {
        fprintf(stderr, "%s: %s, got '%s'\n", tutti_device_name(), tutti_status_text(status), to);
        return 1;
    }
    tutti_free(device);
    printf("%s %s\n", tutti_version(), tutti_device_name());
    return 0;
}
