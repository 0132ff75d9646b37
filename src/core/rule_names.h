/* The names that the rules of TUTTI_RULES know, from the lists that have them: the text of a setting names a list in
 * braces. */
#ifndef TUTTI_CORE_RULE_NAMES_H
#define TUTTI_CORE_RULE_NAMES_H

#include <stdio.h>
#include <string.h>

/* Writes the text with the names of each list in place of {list}, with commas between them; cut at `size` bytes. */
static inline void tutti_rule_names(const char *text, char *out, size_t size)
{
    static const struct {
        const char *list, *name;
    } rows[] = {
#define TUTTI_MOVE(name, order, text) {"moves", #name},
#include "tutti/moves.def"
#undef TUTTI_MOVE
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text)                                                         \
    {(node) ? "messages" : "", #name}, {(far) ? "far messages" : "", #name},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
#define TUTTI_NODES(name, text)    {"nodes", #name},
#define TUTTI_EXCHANGE(name, text) {"leaders", #name},
#define TUTTI_CARRY(name, text)    {"moves over nodes", #name},
#include "tutti/nodes.def"
#undef TUTTI_NODES
#undef TUTTI_EXCHANGE
#undef TUTTI_CARRY
#define TUTTI_PCOLL(id, name, text) {"partitioned", name},
#include "tutti/pcoll.def"
#undef TUTTI_PCOLL
    };
    size_t used = 0;
    out[0] = '\0';
    for (const char *end; *text && used + 1 < size; text = *end ? end + 1 : end) {
        const size_t plain = strcspn(text, "{"), length = text[plain] ? strcspn(text + plain + 1, "}") : 0;
        const char *const list = text + plain + 1, *comma = "";
        used += (size_t)snprintf(out + used, size - used, "%.*s", (int)plain, text);
        for (size_t i = 0; text[plain] && i < sizeof rows / sizeof rows[0] && used < size; i++) {
            if (strncmp(rows[i].list, list, length) != 0 || rows[i].list[length] != '\0')
                continue;
            used += (size_t)snprintf(out + used, size - used, "%s%s", comma, rows[i].name);
            comma = ", ";
        }
        end = text[plain] ? list + length : text + plain;
    }
}

#endif
