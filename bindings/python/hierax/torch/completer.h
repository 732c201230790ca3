// SPDX-License-Identifier: BSD-3-Clause
// One thread of this process completes the calls for which no thread of the program waits.
#pragma once
#include "pending.h"
#include <memory>

namespace hierax
{

void completer_add(std::shared_ptr<Pending> call);

// A call that it watches may be complete.
void completer_wake();

// End the thread: before Python ends.
void completer_stop();

} // namespace hierax
