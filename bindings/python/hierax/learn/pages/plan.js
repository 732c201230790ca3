/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan does, round by round. A plan is what catalogue.py's page_plan writes; a move is [kind, n, to, from, ...], see
 * follow.py. */
"use strict";
const LOCAL = 0,
    MESSAGE = 1,
    READ = 2,
    FLAG = 3;

function plural(n, word) {
    return n + " " + word + (n === 1 ? "" : /(s|sh|ch|x)$/.test(word) ? "es" : "s");
}
function part(n, whole) {
    // as a fraction
    const low = (a, b) => (b ? low(b, a % b) : a),
        d = low(n, whole) || 1;
    return n / d + (whole / d > 1 ? "/" + whole / d : "");
}

/* ---- what is in the cells after each round: null, or {element, ranks} */
function states(plan) {
    const start = new Array(plan.strips.reduce((sum, strip) => sum + strip[2], 0)).fill(null),
        all = [];
    for (const [cell, element, rank] of plan.start) start[cell] = {element, ranks: [rank]};
    let cells = start;
    for (const [, moves] of plan.rounds) {
        const before = cells.slice();
        cells = cells.slice();
        for (const [kind, n, to, ...from] of moves)
            for (let i = 0; i < n; i++) {
                const parts = from.map(cell => (kind === MESSAGE || kind === FLAG ? before : cells)[cell + i]);
                const ranks = [...new Set(parts.flatMap(one => (one ? one.ranks : [])))].sort((a, b) => a - b);
                cells[to + i] = parts[0] && {element: parts[0].element, ranks};
            }
        all.push(cells);
    }
    return [start, ...all];
}

/* ---- arrows of a round: from, to, class, chunks */
function arrows(plan, owner, round) {
    const found = new Map();
    const add = (from, to, kind, n) => {
        const name =
            kind === MESSAGE ? (plan.nodes[from] !== plan.nodes[to] ? "between" : "inside") : kind === READ ? "read" : "flag";
        const key = from + ">" + to + name,
            one = found.get(key) || {from, to, name, n: 0};
        one.n += n;
        found.set(key, one);
    };
    for (const [kind, n, to, ...sources] of round[1])
        for (const cell of sources) if (kind !== LOCAL && owner[cell] !== owner[to]) add(owner[cell], owner[to], kind, n);
    for (const [from, to] of round[2]) add(from, to, FLAG, 0);
    return [...found.values()];
}
