/* SPDX-License-Identifier: BSD-3-Clause */
/* Play a plan: the buttons, the keys, and the words beside the pictures. */
"use strict";
const calm = matchMedia("(prefers-reduced-motion: reduce)");

class Player extends Picture {
    constructor(root) {
        super();
        this.root = root;
        this.find = selector => root.querySelector(selector);
        this.tick = null;
        root.addEventListener("click", event => {
            const button = event.target.closest("button[data-do]");
            if (button) this.act(button.dataset.do);
        });
        this.find("[data-do=seek]").addEventListener("input", event => this.go(+event.target.value));
        new ResizeObserver(() => this.plan && this.width() !== this.drawn && this.draw()).observe(this.find(".memory"));
    }
    width() {
        return Math.max(240, this.find(".memory").clientWidth - 16);
    }

    show(plan, round = 0) {
        this.stop();
        this.plan = plan;
        this.states = states(plan);
        this.owner = plan.strips.flatMap(([rank, , n]) => new Array(n).fill(rank));
        this.last = plan.rounds.length;
        this.cube = plan.cube;
        this.round = Math.min(round, this.last);
        this.elements = 1 + Math.max(...plan.start.map(one => one[1]), 0);
        const seek = this.find("[data-do=seek]"),
            cube = this.find("[data-do=cube]");
        seek.max = this.last;
        cube.parentElement.hidden = !plan.cube;
        this.find(".ticks").replaceChildren(...plan.rounds.map(() => document.createElement("i")));
        this.find(".levels").replaceChildren(
            ...plan.levels.map(level => {
                const item = document.createElement("li");
                item.textContent = level.where + ": " + level.name;
                return item;
            }),
        );
        this.find("figcaption").textContent =
            (plan.score.vector ? "Each row of cells is one memory of a rank. A cell is a chunk. " : "") +
            (plan.folds
                ? "Its stripes, from the bottom up, are the ranks whose data is in it."
                : plan.pairs
                  ? "Chunk 2›5 goes from rank 2 to rank 5."
                  : plan.score.vector
                    ? "Its colour is its place in the vector."
                    : "Each row of cells shows the ranks whose arrival the rank knows of.") +
            " A framed cell is new in this round.";
        this.facts();
        this.draw();
    }

    /* ---- control */
    act(what) {
        const to = {home: 0, end: this.last, back: this.round - 1, forward: this.round + 1}[what];
        if (what === "play") this.tick ? this.stop() : this.play();
        else if (what === "cube") {
            this.cube = !this.cube;
            this.draw();
        } else this.go(to, what === "forward");
    }
    key(event) {
        const what = {ArrowLeft: "back", ArrowRight: "forward", Home: "home", End: "end", " ": "play"}[event.key];
        if (
            !what ||
            event.altKey ||
            event.ctrlKey ||
            event.metaKey ||
            event.target.closest("select, summary, a") ||
            (event.target.matches("input") && event.target.dataset.do !== "seek") ||
            (event.key === " " && event.target.closest("button"))
        )
            return;
        event.preventDefault();
        this.act(what);
    }
    play() {
        if (this.round === this.last) this.go(0);
        this.tick = setInterval(
            () => (this.round < this.last ? this.go(this.round + 1, true, true) : this.stop()),
            calm.matches ? 1600 : 1300,
        );
        this.buttons();
        this.go(this.round + 1, true, true);
    }
    stop() {
        clearInterval(this.tick);
        this.tick = null;
        this.buttons();
    }
    go(round, moving = false, playing = false) {
        if (!playing && this.tick) this.stop();
        const before = this.round;
        this.round = Math.max(0, Math.min(this.last, round));
        this.update(moving && this.round === before + 1 && !calm.matches);
        if (this.round === this.last && this.tick) this.stop();
    }
    buttons() {
        const play = this.find("[data-do=play]");
        play.textContent = this.tick ? "❚❚ stop" : "▶ play";
        play.setAttribute("aria-label", this.tick ? "stop" : "play");
        for (const [name, off] of [
            ["home", this.round === 0],
            ["back", this.round === 0],
            ["forward", this.round === this.last],
            ["end", this.round === this.last],
        ])
            this.find("[data-do=" + name + "]").setAttribute("aria-disabled", off);
    }

    /* ---- words */
    say() {
        const {plan, round} = this;
        if (round === 0)
            return ["Before the first round", "Each rank has its input. " + (this.last > 1 ? "Press → to step." : "")];
        const [levels, moves] = plan.rounds[round - 1],
            passed = arrows(plan, this.owner, plan.rounds[round - 1]),
            texts = [];
        const sums = moves.filter(move => move.length > 4).length;
        for (const [name, word] of [
            ["between", "message"],
            ["inside", "message"],
            ["read", "read"],
            ["flag", "flag"],
        ]) {
            const these = passed.filter(one => one.name === name),
                sizes = [...new Set(these.map(one => one.n))].sort((a, b) => a - b);
            const size =
                plan.score.vector && sizes[0]
                    ? " of " +
                      [...new Set([sizes[0], sizes[sizes.length - 1]])].map(n => part(n, plan.score.vector)).join(" to ") +
                      " vector"
                    : "";
            if (these.length)
                texts.push(
                    plural(these.length, word) +
                        size +
                        (name === "between" && new Set(plan.nodes).size < plan.nodes.length
                            ? " between nodes"
                            : name === "inside"
                              ? " inside nodes"
                              : ""),
                );
        }
        if (sums) texts.push(plural(sums, "sum"));
        if (!passed.length) texts.unshift("Ranks work on their own data");
        const where = levels.map(level => plan.levels[level].where + ": " + plan.levels[level].name).join(", ");
        return [
            this.number(round) ? "Round " + this.number(round) + " of " + plan.score.rounds : "Start",
            where + ". " + texts.join("; ") + ".",
        ];
    }
    number(round) {
        return round - this.last + this.plan.score.rounds;
    } // the ranks may work alone at first
    facts() {
        const {plan} = this,
            s = plan.score,
            facts = [["rounds", s.rounds, ""]];
        const several = s.between.rounds && s.inside.rounds;
        for (const [name, where] of [
            ["between", "between nodes"],
            ["inside", "inside nodes"],
        ]) {
            if (!s[name].rounds) continue;
            const suffix = several ? ", " + where : "";
            if (s.vector) {
                facts.push([
                    (name === "between" ? "bytes on the busiest link" : "bytes of the busiest rank") + suffix,
                    part(s[name].link, s.vector),
                    "× vector",
                ]);
                facts.push([
                    "(α, β) coefficients" + suffix,
                    "(" + s[name].rounds + ", " + part(s[name].beta, s.vector) + ")",
                    "",
                ]);
            } else facts.push(["α coefficient" + suffix, s[name].rounds, ""]);
            if (s[name].messages) facts.push(["messages" + suffix, s[name].messages, "of all ranks"]);
        }
        facts.push(["plan", "", plan.plan + " on " + plan.shape]);
        this.find(".facts").replaceChildren(
            ...facts.map(([term, value, unit]) => {
                const box = document.createElement("div"),
                    dt = document.createElement("dt"),
                    dd = document.createElement("dd"),
                    small = document.createElement("small");
                dt.textContent = term;
                small.textContent = unit ? " " + unit : "";
                dd.append(String(value), small);
                box.append(dt, dd);
                return box;
            }),
        );
    }
    words() {
        const {plan, round} = this;
        if (round === 0) return [];
        const cells = this.states[round],
            named = (cell, n) => [...new Set([...Array(n).keys()].map(i => this.label(cells[cell + i])))].join(" ");
        const said = plan.rounds[round - 1][1].map(([kind, n, to, ...from]) => {
            const me = this.owner[to],
                others = [...new Set(from.map(cell => this.owner[cell]))];
            if (kind === MESSAGE || kind === FLAG) return "rank " + others[0] + " → rank " + me + ": chunk " + named(to, n);
            const what = from.length > 1 ? " adds " + from.length + " values of chunk " : " copies chunk ";
            return (
                "rank " +
                me +
                what +
                named(to, n) +
                (kind === READ ? " from the memory of " + others.filter(r => r !== me).join(", ") : "")
            );
        });
        return said.length > 80 ? [...said.slice(0, 80), "and " + (said.length - 80) + " more"] : said;
    }

    update(moving) {
        const {plan, round} = this,
            [title, text] = this.say(),
            b = document.createElement("b"),
            cells = this.states[round];
        clearTimeout(this.landing);
        this.flight.selectAll("*").remove();
        this.root.dataset.round = round;
        this.root.dataset.shape = plan.shape;
        this.find("[data-do=seek]").value = round;
        this.find("[data-do=seek]").setAttribute("aria-valuetext", title);
        b.textContent = title;
        this.find(".status").replaceChildren(b, " — " + text);
        this.find(".ticks")
            .querySelectorAll("i")
            .forEach((tick, i) => (tick.className = i + 1 < round ? "is-done" : i + 1 === round ? "is-now" : ""));
        const levels = round ? plan.rounds[round - 1][0] : [];
        this.find(".levels")
            .querySelectorAll("li")
            .forEach((item, i) => item.classList.toggle("is-now", levels.includes(i)));
        this.find(".words").replaceChildren(
            ...this.words().map(one => Object.assign(document.createElement("li"), {textContent: one})),
        );
        this.paintTalk();
        this.buttons();
        this.root.dataset.painted = "";
        const paint = () => {
            this.flight.selectAll("*").remove();
            this.paint(cells);
            this.root.dataset.painted = round;
        };
        moving ? this.fly(paint) : paint();
    }
}
