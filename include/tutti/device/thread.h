/* The calls that one thread alone makes: they have no forms of groups. Included by tutti/device.h with TSHMEM_FORM. */

TSHMEM_FORM int tshmem_my_pe(void)
{
    return tutti_dev_team_my_pe(TSHMEM_TEAM_WORLD);
}

TSHMEM_FORM int tshmem_n_pes(void)
{
    return TUTTI_DEV_KNOWN(tutti_dev_state()) ? tutti_dev_state()->pes : 0;
}

TSHMEM_FORM int tshmem_pe_accessible(int pe)
{
    return pe >= 0 && pe < tshmem_n_pes();
}

TSHMEM_FORM int tshmem_addr_accessible(const void *address, int pe)
{
    return tutti_dev_find(address, pe) != NULL ||
           (tshmem_pe_accessible(pe) && tutti_dev_state()->ring.slots && tutti_dev_symmetric(address, 1));
}

TSHMEM_FORM void *tshmem_ptr(const void *dest, int pe)
{
    return tutti_dev_find(dest, pe);
}

TSHMEM_FORM void tshmem_signal_set(uint64_t *signal, uint64_t value, int pe)
{
    char *const at = tutti_dev_near(signal, pe, 1);
    if (at)
        tutti_dev_store_relaxed64(at, value);
    else
        tutti_dev_signal_apart(signal, value, TSHMEM_SIGNAL_SET, pe);
}

TSHMEM_FORM void tshmem_signal_add(uint64_t *signal, uint64_t value, int pe)
{
    tutti_dev_amo(TSHMEM_AMO_ADD | TSHMEM_AMO_NO_FETCH, signal, sizeof *signal, value, 0, pe);
}

TSHMEM_FORM uint64_t tshmem_signal_fetch(const uint64_t *signal)
{
    return tutti_dev_load_acquire64(signal);
}

TSHMEM_FORM int tshmem_team_my_pe(tshmem_team_t team)
{
    return tutti_dev_team_my_pe(team);
}

TSHMEM_FORM int tshmem_team_n_pes(tshmem_team_t team)
{
    return tutti_dev_team_n_pes(team);
}

TSHMEM_FORM int tshmem_team_translate_pe(tshmem_team_t from, int pe, tshmem_team_t to)
{
    return tutti_dev_team_translate(from, pe, to);
}

TSHMEM_FORM int tshmem_ctx_get_team(tshmem_ctx_t ctx, tshmem_team_t *team)
{
    return tutti_dev_ctx_get_team(ctx, team);
}

TSHMEM_FORM int tutti_shmem_ctx_pe(tshmem_ctx_t ctx, int pe)
{
    return tutti_dev_ctx_pe(ctx, pe);
}

TSHMEM_FORM void tutti_shmem_p(void *dest, const void *value, size_t bytes, int pe)
{
    tutti_dev_p(dest, value, bytes, pe);
}

TSHMEM_FORM void tutti_shmem_g(void *value, const void *source, size_t bytes, int pe)
{
    tutti_dev_g(value, source, bytes, pe);
}

TSHMEM_FORM uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    return tutti_dev_amo(operation, dest, bytes, value, compare, pe);
}
