/* SPDX-License-Identifier: BSD-3-Clause */
/* The tour: ten steps, each with a plan to play. #3 in the address: the third step. */
"use strict";
const steps = JSON.parse(document.getElementById("data").textContent),
    player = new Player(document.querySelector(".player"));
const get = id => document.getElementById(id);
let now = 0;

function show(i) {
    now = Math.max(0, Math.min(steps.length - 1, i));
    const step = steps[now];
    get("where").textContent = "Step " + (now + 1) + " of " + steps.length;
    get("title").textContent = step.title;
    get("text").textContent = step.text;
    get("more").href = step.page + "#" + step.shape;
    get("more").textContent = step.algorithm + " " + step.collective + ", with other numbers of ranks";
    get("earlier").disabled = now === 0;
    get("later").disabled = now === steps.length - 1;
    [...get("steps").children].forEach((item, k) => item.firstChild.toggleAttribute("aria-current", k === now));
    history.replaceState(null, "", "#" + (now + 1));
    player.show(step.plan);
}
steps.forEach((step, i) => {
    const item = document.createElement("li"),
        link = Object.assign(document.createElement("a"), {href: "#" + (i + 1), textContent: step.title});
    link.addEventListener("click", event => {
        event.preventDefault();
        show(i);
        scrollTo(0, 0);
    });
    item.append(link);
    get("steps").append(item);
});
get("earlier").addEventListener("click", () => show(now - 1));
get("later").addEventListener("click", () => show(now + 1));
document.addEventListener("keydown", event => player.key(event));
addEventListener("hashchange", () => show(+location.hash.slice(1) - 1 || 0));
show(+location.hash.slice(1) - 1 || 0);
