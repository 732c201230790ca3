// SPDX-License-Identifier: BSD-3-Clause
// README's example as a C++17 program: the ranks' numbers are in a vector.
#include <hierax.h>
#include <cstdio>
#include <vector>

int main()
{
    hx_comm_t *world = nullptr;
    if (hx_init(&world) != HX_SUCCESS) {
        std::fprintf(stderr, "%s\n", hx_error_detail(nullptr));
        return 1;
    }
    const auto mine = static_cast<float>(hx_rank(world) + 1);
    const std::vector<float> in{mine, 10 * mine};
    std::vector<float> sum(in.size());

    if (const auto status = hx_allreduce(in.data(), sum.data(), in.size(), HX_FLOAT32, HX_SUM, world); status != HX_SUCCESS) {
        std::fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(world));
        return 1;
    }
    std::printf("rank %d of %d: %g %g\n", hx_rank(world), hx_size(world), static_cast<double>(sum[0]), static_cast<double>(sum[1]));
    return hx_finalize() == HX_SUCCESS ? 0 : 1;
}
