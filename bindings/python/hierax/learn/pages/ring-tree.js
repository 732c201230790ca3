/* SPDX-License-Identifier: BSD-3-Clause */
/* Two all-reduces under sliders: time = rounds alpha + vectors bytes beta, with the coefficients of the plans. */
"use strict";
const rows = JSON.parse(document.getElementById("data").textContent),
    get = id => document.getElementById(id);
const counts = Object.keys(rows[0].scores).map(Number);

function draw() {
    const alpha = 10 ** get("alpha").value,
        rate = 10 ** get("rate").value,
        p = counts[get("ranks").value],
        bytes = 2 ** get("bytes").value,
        beta = 1e-3 / rate; // µs, GB/s, µs a byte
    const two = ["first", "second"]
        .map(id => rows[get(id).value])
        .map(row => {
            const s = row.scores[p],
                a = s.rounds,
                b = s.between.beta / s.vector;
            return {name: row.name, a, b, time: n => a * alpha + b * n * beta};
        });
    const [one, other] = two,
        crossing = ((one.a - other.a) * alpha) / ((other.b - one.b) * beta);
    const crosses = isFinite(crossing) && crossing > 0,
        [fast, slow] = one.time(bytes) <= other.time(bytes) ? [one, other] : [other, one];
    for (const [id, text] of [
        ["alpha", timeText(alpha)],
        ["rate", +rate.toPrecision(3) + " GB/s"],
        ["ranks", p],
        ["bytes", bytesText(bytes)],
    ])
        get(id).parentElement.querySelector("output").value = text;
    const times = slow.time(bytes) / fast.time(bytes);
    document.querySelector(".answer").textContent =
        times < 1.005
            ? "Both take " + timeText(fast.time(bytes)) + "."
            : "For " +
              bytesText(bytes) +
              " the " +
              fast.name +
              " is " +
              times.toFixed(times < 10 ? 2 : 0) +
              " times as fast: " +
              timeText(fast.time(bytes)) +
              " against " +
              timeText(slow.time(bytes)) +
              ". " +
              (crosses ? "They cross at " + bytesText(crossing) + "." : "They do not cross.");
    document.querySelector(".answer").dataset.crossing = crosses ? crossing : "";
    document.querySelector(".formula").textContent = two
        .map(x => x.name + ": " + x.a + " α + " + +x.b.toFixed(3) + " M β")
        .join("; ");
    const sizes = d3.range(3, 30.01, 0.25).map(i => 2 ** i);
    plot(
        document.querySelector("figure svg"),
        two.map(x => ({name: x.name, points: sizes.map(n => [n, x.time(n)])})),
        {
            marks: [
                {bytes, text: "M", row: 1},
                ...(crosses ? [{bytes: crossing, text: "crossover " + bytesText(crossing), dash: "8 3"}] : []),
            ],
        },
    );
}
get("ranks").min = 0;
get("ranks").max = counts.length - 1;
get("ranks").value = Math.max(0, counts.indexOf(8));
for (const [id, name] of [
    ["first", "ring"],
    ["second", "tree"],
]) {
    rows.forEach((row, i) => get(id).append(new Option(row.name, i)));
    get(id).value = Math.max(
        0,
        rows.findIndex(row => row.name === name),
    );
}
for (const input of document.querySelectorAll(".sliders input, .sliders select")) input.addEventListener("input", draw);
redrawn(draw);
