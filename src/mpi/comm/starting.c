#include "mpi/comm/starting.h"

__thread int tutti_deferred_call_starting;
