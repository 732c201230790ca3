# SPDX-License-Identifier: BSD-3-Clause
dist_tests_list += tests/tools/check.sh tests/places.py tests/layering.py tests/english.py tests/headers.sh tests/exports.sh
dist_tests_list += tests/abi/abi.sh
EXTRA_DIST += tests/golden tests/abi/so0.c tests/abi/so0.x86-64

# The results of these tests hardly depend on the system, the compiler and libraries: `tools/check system` leaves them out.
same_everywhere = tests/places.py tests/layering.py tests/english.py tests/model/run.sh tests/efa_provider/mutants.sh tests/efa_provider/differential.sh \
    tests/runtime/plan/test_check tests/hier/compose/test_compose tests/tools/coll_plan.sh tests/tools/plan_draw.sh tests/tools/plan_cost.sh \
    tests/tools/plan_work.sh tests/tools/report.sh tests/tools/test_report.py tests/tools/compare.sh tests/tools/coll_tune.sh tests/tools/check.sh tests/python/learn.py \
    tests/system/churn.sh tests/system/guidelines.sh tests/system/userops.sh tests/system/wire.sh tests/system/windows.sh tests/hier/live_counters.sh \
    tests/tools/bench_hierax.sh tests/tools/plan_job.sh tests/tools/coll_info.sh tests/tools/screen.py tests/tools/man.sh \
    tests/system/badinput.sh tests/system/comms_many.sh tests/system/grow.sh tests/system/inherited.sh tests/system/notify.sh tests/system/starved.sh \
    tests/tools/coll_run.sh tests/tools/coll_trace.sh tests/tools/coll_store.sh tests/efa_provider/remap.sh \
    tests/system/comms.sh tests/system/timeout.sh tests/system/idle.sh tests/system/faults.sh tests/system/goes_on.sh tests/system/unpunctual.sh \
    tests/system/astray.sh tests/system/unlike.sh tests/system/stream.sh tests/system/adapt.sh tests/system/half.sh tests/system/neighbors.sh \
    tests/system/reorder.sh tests/system/gates.sh tests/efa_provider/after_death.sh tests/system/revoked.sh tests/system/atomic.sh tests/system/forged.sh tests/inter/fabric/test_forged \
    tests/efa_provider/errors.sh tests/lab/reorder_test.sh tests/lab/nics_test.sh tests/lab/rails_test.sh tests/lab/slow_test.sh \
    tests/lab/churn_test.sh tests/lab/overlap_test.sh tests/lab/rate_test.sh tests/lab/pipeline_test.sh tests/lab/ring_order_test.sh tests/lab/wire_test.sh
