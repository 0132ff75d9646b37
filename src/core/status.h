/* Status codes, made from include/tutti/status.def. Functions return TUTTI_OK (0) or a negative code. */
#ifndef TUTTI_CORE_STATUS_H
#define TUTTI_CORE_STATUS_H

enum tutti_status {
#define TUTTI_STATUS(id, number, text) TUTTI_##id = (number),
#include "tutti/status.def"
#undef TUTTI_STATUS
};

const char *tutti_status_text(int status);

#endif
