#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong arguments are refused; requests and operations behave, also with a progress thread.
. "$(dirname "$0")/common.sh"
ranks 2 1 refused.py
ranks 3 2,1 refused.py
ranks 2 1 again.py
ranks 3 2,1 again.py
ranks 1 1 no_memory.py
ranks 2 1 requests.py
ranks 3 2,1 requests.py HX_PROGRESS_THREAD=1
ranks 2 1 messages.py
ranks 3 2,1 messages.py
ranks 2 1 operations.py
ranks 3 2,1 operations.py
ranks 2 1 operations.py HX_PROGRESS_THREAD=1
finish
