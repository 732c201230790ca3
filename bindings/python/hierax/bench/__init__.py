# SPDX-License-Identifier: BSD-3-Clause
"""Measure Hierax against other libraries of Python: python3 -m hierax.bench --against gloo,mpi4py -o page.html"""
