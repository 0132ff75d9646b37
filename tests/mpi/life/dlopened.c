/* Loads an MPI program as a shared object, which brings its MPI along, invisible to others (RTLD_LOCAL): dlopened FILE
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void) = NULL;
    if (plugin)
        *(void **)&run = dlsym(plugin, "plugin_run");
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 4;
    }
    return run();
}
