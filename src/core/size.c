#include "core/size.h"

#include <ctype.h>
#include <stdint.h>

int tutti_size_read(const char **at, size_t *out)
{
    if (!isdigit((unsigned char)**at))
        return 0;
    size_t value = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (value > (SIZE_MAX - 9) / 10)
            return 0;
        value = value * 10 + (size_t)(**at - '0');
    }
    int shift = 0;
    switch (tolower((unsigned char)**at)) {
    case 'k':
        shift = 10;
        break;
    case 'm':
        shift = 20;
        break;
    case 'g':
        shift = 30;
        break;
    }
    if (shift) {
        (*at)++;
        if (value > SIZE_MAX >> shift)
            return 0;
        value <<= shift;
    }
    *out = value;
    return 1;
}
