#include "core/status.h"

const char *tutti_status_text(int status)
{
    switch (status) {
#define TUTTI_STATUS(id, number, text)                                                                                 \
    case number:                                                                                                       \
        return text;
#include "tutti/status.def"
#undef TUTTI_STATUS
    }
    return "an unknown status";
}
