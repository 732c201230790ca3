/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured points, as curves and as a table. */
"use strict";
{
    const data = JSON.parse(document.getElementById("data").textContent),
        names = Object.keys(data.curves),
        table = document.getElementById("table");
    const sizes = [...new Set(names.flatMap(name => data.curves[name].map(point => point[0])))].sort((a, b) => a - b);
    const at = (name, bytes) => (data.curves[name].find(point => point[0] === bytes) || [])[1];
    for (const title of ["vector", ...names])
        table.tHead.rows[0].append(Object.assign(document.createElement("th"), {textContent: title, scope: "col"}));
    for (const bytes of sizes) {
        const row = table.tBodies[0].insertRow(),
            best = Math.min(...names.map(name => at(name, bytes) || Infinity));
        row.insertCell().textContent = bytesText(bytes);
        for (const name of names) {
            const us = at(name, bytes),
                cell = row.insertCell();
            cell.textContent = us ? timeText(us) : "–";
            cell.style.fontWeight = us === best ? 700 : 400;
        }
    }
    const marks = [];
    for (let i = 1; i < sizes.length && data.pair; i++) {
        // where the curves of the pair cross
        const [a, b] = data.pair,
            before = at(a, sizes[i - 1]) - at(b, sizes[i - 1]),
            after = at(a, sizes[i]) - at(b, sizes[i]);
        if (before * after < 0) marks.push({bytes: Math.sqrt(sizes[i - 1] * sizes[i]), text: "crossover", row: marks.length});
    }
    if (data.pair)
        document.querySelector(".answer").textContent =
            "The curves of " +
            data.pair.join(" and ") +
            (marks.length
                ? " cross at about " + marks.map(mark => bytesText(mark.bytes)).join(" and ") + "."
                : " do not cross here.");
    redrawn(() =>
        plot(
            document.querySelector("figure svg"),
            names.map(name => ({name, points: data.curves[name]})),
            {marks, dots: true},
        ),
    );
}
