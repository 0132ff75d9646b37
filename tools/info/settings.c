/* tutti info --settings: all settings by group. */
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "tools/info/info.h"

void info_settings_print(const struct info *info)
{
    struct tutti_setting_row row;
    const char *group = "";
    printf("  %-26s %-10s %-10s %s\n", "name", "value", "default", "allowed");
    for (int i = 0; tutti_settings_row(i, &row); i++) {
        char shown[1024];
        if (strcmp(group, row.group) != 0)
            printf("\n%s\n", row.group);
        group = row.group;
        printf("  %-26s %-10s %-10s %s\n", row.name,
               row.value[0] ? tutti_plain(row.value, shown, sizeof shown) : "(empty)",
               row.standard[0] ? row.standard : "(empty)", row.allowed);
        printf("      %s\n      When to change it: %s\n", row.text, row.when);
    }
    if (info->wrong[0])
        puts("\nNot valid");
    for (const char *at = info->wrong; *at; at += strspn(at, "\n")) {
        const int n = (int)strcspn(at, "\n");
        printf("  %.*s\n", n, at);
        at += n;
    }
}
