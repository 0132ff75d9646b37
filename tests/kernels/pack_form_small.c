/* In place of the library's own: the limits of parts are those that the build of this test says. */
#include "../../src/dtype/pack/form.c"
