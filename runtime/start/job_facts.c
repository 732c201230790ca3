/* SPDX-License-Identifier: BSD-3-Clause */
/* The line of text that rank 0 puts for all ranks before the first fence of start-up: version, facts of the machine, choices for
 * the world communicator, secret, JOB settings. */
#include "runtime/start/startup.h"
#include "runtime/base/log.h"
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define JOB_TEXT_BYTES 65536

hx_status_t hx_job_put(struct hx_boot *boot, const struct hx_env *env, const struct hx_place *place, double seconds,
                       const struct hx_choices *choices)
{
    char *text = malloc(JOB_TEXT_BYTES), hex[2 * HX_SECRET_BYTES + 1];
    unsigned char secret[HX_SECRET_BYTES];
    uint64_t timeout;
    int n;

    if (!text)
        return hx_fail(HX_ERR_NOMEM, "no memory for the job's settings");
    if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
        free(text);
        return hx_fail(HX_ERR_NOMEM, "no random bytes from the kernel for the job's secret");
    }
    memcpy(&timeout, &choices->timeout_s, sizeof(timeout));
    n = snprintf(text, JOB_TEXT_BYTES, "%s %zu %.0f %.0f %d %d %d %" PRIx64 " %s ", hx_version(), place->llc_bytes,
                 1e3 * place->usable_cpus, 1e3 * seconds, /* no point: in some languages that is a comma */
                 env->log >= HX_LOG_INFO, choices->atomic, choices->wire, timeout, /* timeout: all bits, because it may be below 1 ns */
                 sodium_bin2hex(hex, sizeof(hex), secret, sizeof(secret)));
    hx_status_t status = HX_SUCCESS;
    if (hx_env_pack_job(env, text + n, JOB_TEXT_BYTES - (size_t)n) >= JOB_TEXT_BYTES - (size_t)n)
        status = hx_fail(HX_ERR_ENV, "the HX_* settings together are longer than %d bytes", JOB_TEXT_BYTES);
    if (status == HX_SUCCESS)
        status = hx_boot_put(boot, "job", text, strlen(text) + 1);
    free(text);
    return status;
}

hx_status_t hx_job_get(struct hx_boot *boot, struct hx_env *env, struct hx_job *job,
                       unsigned char secret[HX_SECRET_BYTES], double *seconds, struct hx_choices *choices)
{
    void *value = NULL;
    size_t bytes;
    char version[32], hex[2 * HX_SECRET_BYTES + 1];
    uint64_t milli_cpus = 0, milliseconds = 0, timeout = 0;
    int settings = 0;
    hx_status_t status = hx_boot_get(boot, "job", &value, &bytes);

    if (status != HX_SUCCESS)
        return status;
    if (bytes == 0 || ((char *)value)[bytes - 1] ||
        sscanf(value, "%31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %d %d %d %" SCNx64 " %64[0-9a-f] %n", version, &job->llc_bytes, &milli_cpus, &milliseconds,
               &job->map, &choices->atomic, &choices->wire, &timeout, hex, &settings) != 9 ||
        settings == 0 || choices->wire < 0 || choices->wire > HX_WIRE_COUNT || strlen(hex) != 2 * HX_SECRET_BYTES ||
        sodium_hex2bin(secret, HX_SECRET_BYTES, hex, strlen(hex), NULL, NULL, NULL) != 0)
        status = hx_fail(HX_ERR_BOOTSTRAP,
                         "this library cannot read the start-up data of rank 0: use the same version of Hierax on all ranks");
    else if (strcmp(version, hx_version()))
        status = hx_fail(HX_ERR_BOOTSTRAP, "rank 0 runs Hierax %s, rank %d runs %s", version, hx_boot_rank(boot),
                         hx_version());
    job->cpus_per_node = 1e-3 * (double)milli_cpus;
    *seconds = 1e-3 * (double)milliseconds;
    memcpy(&choices->timeout_s, &timeout, sizeof(timeout));
    if (status == HX_SUCCESS)
        status = hx_env_unpack_job(env, (char *)value + settings);
    free(value);
    return status;
}
