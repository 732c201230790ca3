# SPDX-License-Identifier: BSD-3-Clause
"""Pages that teach collectives: `python3 -m hierax.learn -o site/`. See README.md in this folder."""
