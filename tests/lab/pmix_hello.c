/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest PMIx client: says its host, waits, prints what its right neighbour said. Tests the lab, not Hierax. */
#include <pmix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *what, pmix_status_t status) {
    fprintf(stderr, "pmix_hello: %s: %s\n", what, PMIx_Error_string(status));
    return 1;
}

int main(void) {
    pmix_proc_t me, all, next;
    pmix_value_t *value, said;
    pmix_status_t status;
    pmix_info_t collect;
    char host[256];
    bool yes = true;
    uint32_t size;

    if (gethostname(host, sizeof host) || (status = PMIx_Init(&me, NULL, 0)))
        return failed("init", status);
    PMIX_PROC_LOAD(&all, me.nspace, PMIX_RANK_WILDCARD);
    if ((status = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value)))
        return failed("get job size", status);
    size = value->data.uint32;
    said.type = PMIX_STRING;
    said.data.string = host;
    if ((status = PMIx_Put(PMIX_GLOBAL, "at", &said)) || (status = PMIx_Commit()))
        return failed("put", status);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if ((status = PMIx_Fence(&all, 1, &collect, 1)))
        return failed("fence", status);
    PMIX_PROC_LOAD(&next, me.nspace, (me.rank + 1) % size);
    if ((status = PMIx_Get(&next, "at", NULL, 0, &value)))
        return failed("get", status);
    printf("rank %u of %u on %s, next on %s\n", me.rank, size, host, value->data.string);
    fflush(stdout);
    return (status = PMIx_Finalize(NULL, 0)) ? failed("finalize", status) : 0;
}
