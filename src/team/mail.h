/* Mail to a kernel that stays; see kernels/linger.inc. Private to team/. */
#ifndef TUTTI_TEAM_MAIL_H
#define TUTTI_TEAM_MAIL_H

#include "team/team.h"

/* 1 if the kernel that was mailed has left, and has not begun the last command. */
int tutti_mail_lost(const struct tutti_team *team);

#endif
