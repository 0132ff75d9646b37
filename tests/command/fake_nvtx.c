/* A tool for NVTX as Nsight is one: keeps the names of the open ranges and counts. Loaded by NVTX through
 * NVTX_INJECTION64_PATH. */
#include <nvtx3/nvToolsExt.h>
#include <string.h>

enum { DEPTH = 8, NAME = 32 };
struct fake_nvtx {
    int depth, pushed;
    char open[DEPTH][NAME];
};
__attribute__((visibility("default"))) struct fake_nvtx fake_nvtx;

static int push(const char *name)
{
    if (fake_nvtx.depth < DEPTH)
        strncpy(fake_nvtx.open[fake_nvtx.depth], name, NAME - 1);
    fake_nvtx.pushed++;
    return fake_nvtx.depth++;
}

static int pop(void)
{
    return --fake_nvtx.depth;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned n = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &n) ||
        n <= NVTX_CBID_CORE_RangePop)
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
