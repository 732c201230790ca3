/* SPDX-License-Identifier: BSD-3-Clause */
/* Draw a plan: the memory of each rank, and who exchanges data. this.plan, this.round, this.states and this.owner
 * are the player's. */
"use strict";
const HUES = d3.interpolateRgbBasis(["#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"]);
const KINDS = {
    between: "message between nodes",
    inside: "message inside a node",
    read: "read of another rank's memory",
    flag: "flag only",
};

/* ---- where the ranks are in the picture of who exchanges data */
function circle(plan) {
    const p = plan.nodes.length,
        places = [];
    for (let r = 0; r < p; r++) {
        const angle = (2 * Math.PI * (r + 0.5)) / p - Math.PI / 2;
        places.push([200 + 158 * Math.cos(angle), 200 + 158 * Math.sin(angle)]);
    }
    return places;
}
function hypercube(plan) {
    const axes =
            plan.nodes.length > 8
                ? [
                      [112, 0],
                      [0, -150],
                      [42, -40],
                      [190, 22],
                  ]
                : [
                      [210, 0],
                      [0, -210],
                      [82, -72],
                  ],
        places = [];
    for (let r = 0; r < plan.nodes.length; r++)
        places.push(axes.reduce((at, axis, bit) => ((r >> bit) & 1 ? [at[0] + axis[0], at[1] + axis[1]] : at), [0, 0]));
    const middle = [0, 1].map(k => (Math.min(...places.map(at => at[k])) + Math.max(...places.map(at => at[k]))) / 2);
    return places.map(at => [at[0] - middle[0] + 200, at[1] - middle[1] + 200]);
}

class Picture {
    label(value) {
        const p = this.plan.nodes.length;
        return !value
            ? ""
            : this.plan.pairs
              ? Math.floor(value.element / p) + "›" + (value.element % p)
              : String(value.element);
    }
    hue(value) {
        const {plan} = this,
            p = plan.nodes.length,
            pairs = plan.pairs;
        const i = pairs ? Math.floor(value.element / p) : value.element,
            n = pairs ? p : this.elements;
        return HUES(n > 1 ? (i / (n - 1)) * 0.93 : 0.45);
    }
    draw() {
        this.drawn = this.width();
        this.drawMemory();
        this.drawTalk();
        this.update(false);
    }
    layout() {
        // a card for each rank; a node begins a row of cards
        const {plan} = this,
            p = plan.nodes.length,
            width = this.drawn,
            several = new Set(plan.nodes).size < p && p > 1;
        const most = Math.max(...plan.strips.map(([, , n, columns]) => (columns ? columns[n - 1] + 1 : n)), 1),
            label = 42;
        const least = label + most * (plan.pairs ? 20 : 14) + 18,
            fits = Math.max(1, Math.min(4, Math.floor(width / Math.max(least, 160))));
        const largest = several
            ? Math.max(...[...new Set(plan.nodes)].map(node => plan.nodes.filter(n => n === node).length))
            : p;
        const columns = Math.ceil(largest / Math.ceil(largest / fits)); // rows of cards as even as can be
        const cardWidth = width / columns,
            cell = Math.max(3, Math.min(38, (cardWidth - label - 18) / most));
        const tall = plan.strips.some(([, space]) => space === "out" || space === "arrived") && p > 8 ? 24 : 22;
        const ranks = [...Array(p).keys()].map(rank => {
            let y = 24;
            const strips = [];
            plan.strips.forEach(([owner, space, n, columns], i) => {
                if (owner === rank && n) (strips.push({i, space, n, columns, y, h: tall}), (y += tall + 4));
            });
            return {rank, strips, height: y + 6};
        });
        const nodes = [],
            order = several
                ? [...new Set(plan.nodes)].map(node => ranks.filter(one => plan.nodes[one.rank] === node))
                : [ranks];
        let top = 0;
        for (const members of order) {
            const begin = top;
            top += several ? 20 : 0;
            for (let i = 0; i < members.length; i += columns) {
                const row = members.slice(i, i + columns),
                    height = Math.max(...row.map(one => one.height));
                row.forEach((one, k) => Object.assign(one, {x: k * cardWidth + 8, y: top}));
                top += height;
            }
            top += several ? 12 : 0;
            if (several) nodes.push({node: plan.nodes[members[0].rank], y: begin, height: top - begin - 6});
        }
        return {ranks, nodes, cell, label, width, height: top};
    }
    drawMemory() {
        const at = this.layout(),
            {plan} = this,
            svg = d3.select(this.find(".memory svg"));
        svg.selectAll("*").remove();
        svg.attr("width", at.width)
            .attr("height", at.height)
            .attr("viewBox", "0 0 " + at.width + " " + at.height);
        const node = svg.selectAll("g.box").data(at.nodes).join("g");
        node.append("rect")
            .attr("class", "node")
            .attr("rx", 10)
            .attr("x", 1)
            .attr("width", at.width - 2)
            .attr("y", one => one.y + 1)
            .attr("height", one => one.height);
        node.append("text")
            .attr("class", "strip")
            .attr("x", 10)
            .attr("y", one => one.y + 15)
            .text(one => "node " + one.node);
        const card = svg
            .selectAll("g.card")
            .data(at.ranks)
            .join("g")
            .attr("transform", one => "translate(" + one.x + "," + one.y + ")");
        card.append("text")
            .attr("class", "rank")
            .attr("y", 16)
            .text(one => "rank " + one.rank + (one.rank === plan.root ? " (root)" : ""));
        const first = [];
        plan.strips.reduce((sum, strip, i) => (first[i] = sum) + strip[2], 0);
        const cells = [];
        card.each(function (one) {
            for (const strip of one.strips) {
                d3.select(this)
                    .append("text")
                    .attr("class", "strip")
                    .attr("y", strip.y + strip.h / 2 + 3)
                    .text(strip.space);
                for (let i = 0; i < strip.n; i++)
                    cells.push({
                        cell: first[strip.i] + i,
                        rank: one.rank,
                        space: strip.space,
                        x: one.x + at.label + (strip.columns ? strip.columns[i] : i) * at.cell,
                        y: one.y + strip.y,
                        w: at.cell - 1.5,
                        h: strip.h,
                    });
            }
        });
        this.cells = cells;
        const letters = plan.pairs ? 2 * String(plan.nodes.length - 1).length + 1 : String(this.elements - 1).length,
            font = Math.min(10, (at.cell - 2) / letters / 0.62);
        this.font = this.elements > 1 && font >= 7 ? font : 0;
        const g = svg
            .append("g")
            .selectAll("g")
            .data(cells)
            .join("g")
            .attr("class", "cell")
            .attr("data-rank", one => one.rank)
            .attr("data-space", one => one.space)
            .attr("transform", one => "translate(" + one.x + "," + one.y + ")");
        g.append("rect")
            .attr("rx", 2)
            .attr("width", one => one.w)
            .attr("height", one => one.h);
        g.append("rect")
            .attr("class", "tint")
            .attr("rx", 2)
            .attr("width", one => one.w)
            .attr("height", one => one.h);
        g.append("path");
        g.append("text")
            .style("font-size", this.font + "px")
            .attr("x", one => one.w / 2)
            .attr("y", one => one.h / 2);
        g.append("rect")
            .attr("class", "edge")
            .attr("rx", 2)
            .attr("width", one => one.w)
            .attr("height", one => one.h);
        g.append("title");
        this.flight = svg.append("g").attr("aria-hidden", "true");
    }
    stripes(one, value) {
        // one for each rank whose data is in it; all of it where nothing is folded
        const p = this.plan.nodes.length,
            h = one.h / p;
        if (!value) return "";
        if (!this.plan.folds) return "M0,0h" + one.w + "v" + one.h + "h" + -one.w + "z";
        return value.ranks
            .map(
                rank =>
                    "M0," +
                    (one.h - (rank + 1) * h).toFixed(2) +
                    "h" +
                    one.w.toFixed(2) +
                    "v" +
                    h.toFixed(2) +
                    "h" +
                    (-one.w).toFixed(2) +
                    "z",
            )
            .join("");
    }
    paint(cells) {
        const {round, plan} = this,
            before = round ? this.states[round - 1] : cells,
            final = this.states[this.last];
        const same = (a, b) => a === b || (a && b && a.element === b.element && a.ranks.length === b.ranks.length);
        const written = new Set(
            round ? plan.rounds[round - 1][1].flatMap(([, n, to]) => [...Array(n).keys()].map(i => to + i)) : [],
        );
        const g = d3.select(this.find(".memory svg")).selectAll("g.cell"),
            value = one => cells[one.cell];
        g.attr("data-value", one => (value(one) ? value(one).element + ":" + value(one).ranks.join(".") : ""))
            .classed("is-new", one => written.has(one.cell) && !same(before[one.cell], value(one)))
            .classed(
                "is-final",
                one => (one.space === "out" || one.space === "arrived") && value(one) && same(value(one), final[one.cell]),
            );
        g.select(".tint").style("fill", one => (value(one) ? this.hue(value(one)) : "transparent"));
        g.select("path")
            .attr("d", one => this.stripes(one, value(one)))
            .style("fill", one => (value(one) ? this.hue(value(one)) : "none"));
        g.select("text")
            .text(one => (this.font ? this.label(value(one)) : ""))
            .style("fill", one => {
                const full = value(one) && (!plan.folds || value(one).ranks.length > plan.nodes.length / 2),
                    dark = value(one) && d3.lab(this.hue(value(one))).l < 62;
                return full ? (dark ? "#fff" : "#111") : "var(--ink)";
            })
            .classed("is-over", one => plan.folds && value(one) && value(one).ranks.length <= plan.nodes.length / 2);
        g.select("title").text(one =>
            value(one)
                ? "chunk " +
                  this.label(value(one)) +
                  (plan.folds ? ": sum of ranks " : ": from rank ") +
                  value(one).ranks.join(", ")
                : "empty",
        );
    }
    fly(done) {
        // chunks travel from where they are read to where they are written
        const place = new Map(this.cells.map(one => [one.cell, one])),
            before = this.states[this.round - 1],
            pieces = [];
        for (const [kind, n, to, ...from] of this.plan.rounds[this.round - 1][1])
            for (const cell of kind === LOCAL ? [] : from)
                for (let i = 0; i < n; i++)
                    if (this.owner[cell] !== this.owner[to] && place.has(cell + i) && place.has(to + i))
                        pieces.push({
                            from: place.get(cell + i),
                            to: place.get(to + i),
                            value: before[cell + i] || this.states[this.round][to + i],
                        });
        this.flight.selectAll("*").remove();
        const flying = pieces.length && pieces.length <= 600 ? this.flight.selectAll("path").data(pieces).join("path") : null;
        if (!flying) return done();
        flying
            .attr("d", one => this.stripes(one.from, {ranks: [...Array(this.plan.nodes.length).keys()]}))
            .style("fill", one => this.hue(one.value))
            .style("stroke", "var(--ink)")
            .attr("transform", one => "translate(" + one.from.x + "," + one.from.y + ")")
            .style("opacity", 0.9)
            .transition()
            .duration(650)
            .attr("transform", one => "translate(" + one.to.x + "," + one.to.y + ")");
        this.landing = setTimeout(done, 660);
    }
    drawTalk() {
        const {plan} = this,
            p = plan.nodes.length,
            svg = d3.select(this.find(".talk svg"));
        const places = (this.places = this.cube ? hypercube(plan) : circle(plan)),
            mask = p - 1;
        svg.selectAll("*").remove();
        svg.attr("viewBox", "0 0 400 400");
        this.find("[data-do=cube]").setAttribute("aria-pressed", this.cube);
        if (this.cube)
            for (let a = 0; a < p; a++)
                for (let bit = 1; bit <= mask; bit *= 2)
                    if (!(a & bit))
                        svg.append("line")
                            .attr("class", "edge-faint")
                            .attr("x1", places[a][0])
                            .attr("y1", places[a][1])
                            .attr("x2", places[a | bit][0])
                            .attr("y2", places[a | bit][1]);
        if (!this.cube && new Set(plan.nodes).size < p)
            [...new Set(plan.nodes)].forEach(node => {
                const members = plan.nodes.map((n, r) => (n === node ? r : -1)).filter(r => r >= 0);
                const angle = r => (2 * Math.PI * r) / p - Math.PI / 2,
                    [a, b] = [angle(members[0]) + 0.04, angle(members[members.length - 1] + 1) - 0.04],
                    R = 190;
                svg.append("path")
                    .attr("class", "node")
                    .attr(
                        "d",
                        "M" +
                            (200 + R * Math.cos(a)) +
                            "," +
                            (200 + R * Math.sin(a)) +
                            "A" +
                            R +
                            "," +
                            R +
                            " 0 " +
                            (b - a > Math.PI ? 1 : 0) +
                            " 1 " +
                            (200 + R * Math.cos(b)) +
                            "," +
                            (200 + R * Math.sin(b)),
                    );
            });
        this.links = svg.append("g");
        const peer = svg
            .append("g")
            .selectAll("g")
            .data(places)
            .join("g")
            .attr("class", "peer")
            .classed("is-root", (_, r) => r === plan.root)
            .attr("transform", at => "translate(" + at + ")");
        peer.append("circle").attr("r", p > 8 ? 14 : 17);
        peer.append("text")
            .text((_, r) => (this.cube ? r.toString(2).padStart(Math.log2(p), "0") : r))
            .style("font-size", this.cube && p > 8 ? "10px" : null);
        const used = new Set(plan.rounds.flatMap(round => arrows(plan, this.owner, round)).map(one => one.name));
        this.find(".legend").innerHTML = Object.keys(KINDS)
            .filter(name => used.has(name))
            .map(
                name =>
                    '<li><svg width="34" height="10" aria-hidden="true"><path class="link ' +
                    name +
                    '" d="M1,5h32"/></svg>' +
                    KINDS[name] +
                    "</li>",
            )
            .join("");
    }
    paintTalk() {
        const {plan, places} = this,
            passed = this.round ? arrows(plan, this.owner, plan.rounds[this.round - 1]) : [];
        const path = one => {
            // bent, so that two ways can be told apart
            const [a, b] = [places[one.from], places[one.to]],
                dx = b[0] - a[0],
                dy = b[1] - a[1],
                length = Math.hypot(dx, dy) || 1;
            const r = plan.nodes.length > 8 ? 15 : 18,
                bend = Math.min(20, length * 0.11),
                c = [(a[0] + b[0]) / 2 - (dy / length) * bend, (a[1] + b[1]) / 2 + (dx / length) * bend];
            const back = Math.hypot(b[0] - c[0], b[1] - c[1]),
                u = [(b[0] - c[0]) / back, (b[1] - c[1]) / back],
                end = [b[0] - u[0] * (r + 7), b[1] - u[1] * (r + 7)];
            one.head = "translate(" + end + ") rotate(" + (Math.atan2(u[1], u[0]) * 180) / Math.PI + ")";
            return "M" + a + "Q" + c + " " + end;
        };
        this.links
            .selectAll("path.link")
            .data(passed)
            .join("path")
            .attr("d", path)
            .attr("class", one => "link " + one.name);
        this.links
            .selectAll("path.head")
            .data(passed)
            .join("path")
            .attr("d", "M8,0L-3,5.5L-3,-5.5z")
            .attr("transform", one => one.head)
            .attr("class", one => "head " + one.name);
    }
}
