/* Not in deferred_call.c, so that users of the word alone do not depend on open calls. */
#include "mpi/reduce/deferred_call.h"

__thread int tutti_deferred_call_starting;
