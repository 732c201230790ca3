# SPDX-License-Identifier: BSD-3-Clause
# Jobs of real processes, started by coll_run.
noinst_PROGRAMS += tests/system/scale tests/system/collectives tests/system/actor tests/system/badcalls \
    tests/system/comms tests/system/comms_many tests/system/threads tests/system/wakes tests/system/handoff tests/system/userops tests/system/half tests/system/wire tests/system/reorder tests/system/guidelines tests/system/notify tests/system/again tests/system/groups tests/system/neighbors
tests_system_collectives_SOURCES = tests/system/collectives.c tests/system/elements.c tests/system/elements.h tests/op_fold.h

noinst_PROGRAMS += tests/system/traced
tests_system_traced_LDADD = libhierax.la
tests_system_traced_LDFLAGS = $(in_tree)

tests_system_guidelines_LDADD = libhierax.la
tests_system_guidelines_LDFLAGS = $(in_tree)
tests_system_half_SOURCES = tests/system/half.c tests/system/half_convert.c tests/system/half_convert.h \
	tests/system/half_convert_avx2.c tests/system/half_convert_avx512.c tests/system/half_convert_kernels.h

check_programs_list += tests/system/threads_ranks

dist_tests_list += tests/system/goes_on.sh tests/system/faults.sh tests/system/astray.sh tests/system/collectives.sh tests/system/death.sh tests/system/timeout.sh tests/system/idle.sh tests/system/busy.sh \
    tests/system/emulation.sh tests/system/memory.sh tests/system/badinput.sh tests/system/comms.sh tests/system/comms_many.sh tests/system/neighbors.sh tests/system/userops.sh tests/system/half.sh tests/system/wire.sh tests/system/reorder.sh tests/system/guidelines.sh \
    tests/system/single_copy.sh tests/system/stream.sh tests/system/windows.sh tests/system/disagree.sh tests/system/install.sh tests/system/instructions.sh
dist_tests_list += tests/system/finish.sh tests/system/pidspaces.sh tests/system/children.sh
noinst_PROGRAMS += tests/system/forger
dist_tests_list += tests/system/forged.sh tests/system/crowded.sh tests/system/libfabric.sh
dist_tests_list += tests/system/startup.sh tests/system/strangers.sh tests/system/tracer.sh
EXTRA_DIST += tests/system/common.sh tests/system/refuse.c tests/system/start_calls.c tests/system/strangers.py

noinst_PROGRAMS += tests/system/gates
dist_tests_list += tests/system/gates.sh

noinst_PROGRAMS += tests/system/counted
tests_system_counted_LDADD = libhierax.la
tests_system_counted_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/stats.sh
dist_tests_list += tests/system/scale.sh tests/system/progress_core.sh tests/system/descriptors.sh tests/system/nested.sh tests/system/one_message.sh

noinst_PROGRAMS += tests/system/unpunctual
tests_system_unpunctual_LDADD = libhierax.la
tests_system_unpunctual_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/unpunctual.sh

noinst_PROGRAMS += tests/system/starved
tests_system_starved_LDADD = libhierax.la
tests_system_starved_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/starved.sh

noinst_PROGRAMS += tests/system/windows
tests_system_windows_LDADD = libhierax.la
tests_system_windows_LDFLAGS = $(in_tree)

noinst_PROGRAMS += tests/system/faults
tests_system_faults_SOURCES = tests/system/faults.c tests/system/faults.h tests/system/faults_draw.c tests/system/faults_judge.c tests/system/faults_rank.c
tests_system_faults_LDADD = libhierax.la
tests_system_faults_LDFLAGS = $(in_tree)

tests_system_notify_LDADD = libhierax.la
tests_system_notify_LDFLAGS = $(in_tree)
tests_system_again_LDADD = libhierax.la
tests_system_again_LDFLAGS = $(in_tree)
tests_system_groups_LDADD = libhierax.la
tests_system_groups_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/notify.sh tests/system/again.sh tests/system/groups.sh
noinst_PROGRAMS += tests/system/constants
dist_tests_list += tests/system/constants.sh

noinst_PROGRAMS += tests/system/unlike
dist_tests_list += tests/system/unlike.sh

noinst_PROGRAMS += tests/system/adapted
dist_tests_list += tests/system/adapt.sh
noinst_PROGRAMS += tests/system/state
tests_system_state_LDADD = libhierax.la
tests_system_state_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/state.sh
noinst_PROGRAMS += tests/system/messages
tests_system_messages_LDADD = libhierax.la
tests_system_messages_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/messages.sh tests/system/revoked.sh
EXTRA_DIST += tests/system/alone.sh tests/system/start_dies.sh

noinst_PROGRAMS += tests/system/survivors tests/system/parted
tests_system_parted_LDADD = libhierax.la
tests_system_parted_LDFLAGS = $(in_tree)
tests_system_survivors_LDADD = libhierax.la
tests_system_survivors_LDFLAGS = $(in_tree)
noinst_PROGRAMS += tests/system/atomic_rules
tests_system_atomic_rules_LDADD = libhierax.la
tests_system_atomic_rules_LDFLAGS = $(in_tree)
noinst_PROGRAMS += tests/system/atomic_calls
tests_system_atomic_calls_LDADD = libhierax.la
tests_system_atomic_calls_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/survivors.sh tests/system/atomic.sh

noinst_PROGRAMS += tests/system/worlds
dist_tests_list += tests/system/worlds.sh
noinst_PROGRAMS += tests/system/grown
noinst_PROGRAMS += tests/system/grown_dies
tests_system_grown_LDADD = libhierax.la
tests_system_grown_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/grow.sh tests/system/elastic.sh
noinst_PROGRAMS += tests/system/inherited
tests_system_inherited_LDADD = libhierax.la
tests_system_inherited_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/inherited.sh

noinst_PROGRAMS += tests/system/churn
tests_system_churn_SOURCES = tests/system/churn.c tests/system/churn_state.c tests/system/churn_state.h
tests_system_churn_LDADD = libhierax.la -lm
tests_system_churn_LDFLAGS = $(in_tree)
dist_tests_list += tests/system/churn.sh
EXTRA_DIST += tests/system/churn.py
