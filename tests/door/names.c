/* names [off] [MODULE]: the program looks for calls (names_module.c). MODULE: that library is loaded late, and the MPI
 * with it, as the interpreter of a language does it; otherwise the program is linked with it. off: Tutti is off. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int names_module(int off);
#ifndef NAMES_LINKED
#pragma weak names_module
#endif

int main(int argc, char **argv)
{
    const int off = argc > 1 && strcmp(argv[1], "off") == 0;
    int (*look)(int) = names_module;
    if (argc > 1 + off) {
        void *module = dlopen(argv[1 + off], RTLD_NOW | RTLD_LOCAL);
        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        *(void **)(void *)&look = dlsym(module, "names_module");
    }
    return look ? look(off) : 2;
}
