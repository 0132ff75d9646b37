/* Mail to the kernel that stays after a small call. One command is under way at a time: the next one is posted when the
 * last has been done, or when its kernel has left, or a later launch of the stream has reported. */
#include "team/mail.h"

static void mail_post(struct tutti_team *team, const uint32_t data[TUTTI_MAIL_WORDS])
{
    const uint64_t sequence = ++team->mail.sequence;
    for (int i = 0; i < TUTTI_MAIL_WORDS; i++)
        __atomic_store_n(&team->words->mail.word[i], sequence << 32 | data[i], __ATOMIC_RELEASE);
}

int tutti_team_mail_post(struct tutti_team *team, const struct tutti_flow_args *args)
{
    const uint64_t in = (uint64_t)(uintptr_t)args->in, out = (uint64_t)(uintptr_t)args->out;
    if (__atomic_load_n(&team->words->answer.leaving, __ATOMIC_RELAXED) == team->mail.launch_number) {
        team->mail.launch_number = 0;
        return 0;
    }
    const uint32_t data[TUTTI_MAIL_WORDS] = {
        [TUTTI_MAIL_IN] = (uint32_t)in,
        [TUTTI_MAIL_IN_HIGH] = (uint32_t)(in >> 32),
        [TUTTI_MAIL_OUT] = (uint32_t)out,
        [TUTTI_MAIL_OUT_HIGH] = (uint32_t)(out >> 32),
        [TUTTI_MAIL_COUNT] = (uint32_t)args->count,
        [TUTTI_MAIL_SHAPE] = args->shape | args->root << 8,
        [TUTTI_MAIL_NUMBER] = args->launch_number,
        [TUTTI_MAIL_WHAT] = TUTTI_MAIL_CALL,
    };
    mail_post(team, data);
    return 1;
}

int tutti_team_mail_leave(struct tutti_team *team)
{
    static const uint32_t data[TUTTI_MAIL_WORDS] = {[TUTTI_MAIL_WHAT] = TUTTI_MAIL_LEAVE};
    if (team->mail.launch_number == 0)
        return 0;
    mail_post(team, data);
    team->mail.launch_number = 0;
    return 1;
}

int tutti_mail_lost(const struct tutti_team *team)
{
    const struct tutti_answer *answer = &team->words->answer;
    return __atomic_load_n(&answer->left, __ATOMIC_ACQUIRE) == team->mail.launch_number &&
           __atomic_load_n(&answer->served, __ATOMIC_RELAXED) != team->mail.sequence;
}
