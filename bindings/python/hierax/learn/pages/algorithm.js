/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of one algorithm: choose the ranks or a shape. #8x1@3 in the address: this shape, and round. */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent),
    player = new Player(document.querySelector(".player"));
const ranks = document.getElementById("ranks"),
    chips = document.getElementById("shapes"),
    sizes = data.flat.map(plan => plan.nodes.length);

function choose(plan, round = 0) {
    const flat = data.flat.includes(plan);
    if (flat) ranks.value = sizes.indexOf(plan.nodes.length);
    document.getElementById("ranks-shown").value = sizes[ranks.value];
    ranks.setAttribute("aria-valuetext", sizes[ranks.value] + " ranks");
    for (const chip of chips.children) chip.setAttribute("aria-pressed", chip.plan ? chip.plan === plan : flat);
    player.show(plan, round);
}
function chip(text, plan) {
    const button = Object.assign(document.createElement("button"), {textContent: text, plan});
    button.addEventListener("click", () => choose(plan || data.flat[ranks.value]));
    chips.append(button);
}
ranks.min = 0;
ranks.max = sizes.length - 1;
ranks.value = Math.max(0, sizes.indexOf(8));
ranks.addEventListener("input", () => choose(data.flat[ranks.value]));
chip(data.flat[0].score.between.rounds ? "one rank a node" : "one node");
for (const plan of data.shapes) chip("nodes of " + plan.shape.replace(/,/g, " + "), plan);
document.addEventListener("keydown", event => player.key(event));
const [shape, round] = decodeURIComponent(location.hash.slice(1)).split("@");
choose(
    [...data.flat, ...data.shapes].find(plan => plan.shape === shape) ||
        data.flat.find(plan => plan.nodes.length === 8) ||
        data.flat[0],
    +round || 0,
);
