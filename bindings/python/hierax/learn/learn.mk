# SPDX-License-Identifier: BSD-3-Clause
hxpy_files += hierax/learn/__init__.py hierax/learn/__main__.py hierax/learn/catalogue.py \
    hierax/learn/follow.py hierax/learn/gloo_rank.py hierax/learn/measure.py hierax/learn/score.py hierax/learn/site.py \
    hierax/learn/pages/algorithm.html hierax/learn/pages/algorithm.js hierax/learn/pages/base.html \
    hierax/learn/pages/index.html hierax/learn/pages/measured.html hierax/learn/pages/measured.js \
    hierax/learn/pages/measured.json hierax/learn/pages/player.html hierax/learn/pages/player.js \
    hierax/learn/pages/picture.js hierax/learn/pages/plan.js hierax/learn/pages/plot.js hierax/learn/pages/ring-tree.html \
    hierax/learn/pages/ring-tree.js hierax/learn/pages/scorecard.html hierax/learn/pages/scorecard.js \
    hierax/learn/pages/style.css hierax/learn/pages/tour.html hierax/learn/pages/tour.js hierax/learn/pages/tour.json

dist_tests_list += tests/python/learn.py tests/python/learn_measure.sh
EXTRA_DIST += bindings/python/hierax/learn/README.md tests/python/browser.py tests/python/learn_faults.py \
    tests/python/learn_pages.py tests/python/plan_reader.py \
    $(addprefix bindings/python/hierax/learn/pictures/,hierarchical.png hypercube.png phone.png)
