/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all algorithms, for a number of ranks, in any order. */
"use strict";
const rows = JSON.parse(document.getElementById("data").textContent),
    table = document.getElementById("table");
const ranks = document.getElementById("ranks"),
    only = document.getElementById("collective");
const counts = [...new Set(rows.flatMap(row => Object.keys(row.scores).map(Number)))].sort((a, b) => a - b);
const place = s => (s.between.rounds ? s.between : s.inside);
const number = (n, s) => (s.vector ? (n / s.vector).toFixed(2).replace(/\.?0+$/, "") : "–");
const columns = [
    // title, text, what to sort by
    ["algorithm", row => row.name],
    ["rounds (α)", (row, s) => s.rounds, (row, s) => s.rounds],
    ["vectors (β)", (row, s) => number(place(s).beta, s), (row, s) => (s.vector ? place(s).beta / s.vector : 0)],
    ["busiest link", (row, s) => number(place(s).link, s), (row, s) => (s.vector ? place(s).link / s.vector : 0)],
    ["messages", (row, s) => place(s).messages, (row, s) => place(s).messages],
    ["where", (row, s) => (s.between.rounds ? "between nodes" : "inside a node")],
];
let by = -1,
    down = false;

function draw() {
    const p = counts[ranks.value],
        value = (row, i) => (columns[i][2] || columns[i][1])(row, row.scores[p]);
    const shown = rows.filter(row => row.scores[p] && (!only.value || row.collective === only.value));
    document.getElementById("ranks-shown").value = p;
    if (by >= 0)
        shown.sort((a, b) => (value(a, by) > value(b, by) ? 1 : value(a, by) < value(b, by) ? -1 : 0) * (down ? -1 : 1));
    table.tBodies[0].replaceChildren(
        ...shown.map(row => {
            const tr = document.createElement("tr");
            columns.forEach((column, i) => {
                const td = tr.insertCell(),
                    text = String(column[1](row, row.scores[p]));
                if (i === 0)
                    td.append(
                        Object.assign(document.createElement("a"), {href: row.page, textContent: text}),
                        " ",
                        Object.assign(document.createElement("small"), {textContent: row.collective}),
                    );
                else td.textContent = text;
            });
            return tr;
        }),
    );
    [...table.tHead.rows[0].cells].forEach((th, i) =>
        i === by ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"),
    );
}
columns.forEach(([title], i) => {
    const th = document.createElement("th"),
        button = Object.assign(document.createElement("button"), {textContent: title});
    th.scope = "col";
    button.addEventListener("click", () => {
        down = by === i && !down;
        by = i;
        draw();
    });
    th.append(button);
    table.tHead.rows[0].append(th);
});
for (const name of new Set(rows.map(row => row.collective))) only.append(new Option(name, name));
ranks.min = 0;
ranks.max = counts.length - 1;
ranks.value = Math.max(0, counts.indexOf(8));
ranks.addEventListener("input", draw);
only.addEventListener("change", draw);
draw();
