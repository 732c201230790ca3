/* SPDX-License-Identifier: BSD-3-Clause */
/* A plot of times against sizes, both logarithmic. */
"use strict";
const COLOURS = ["#c45a00", "#0b62a8", "#00795a", "#a03a8f", "#737373"],
    DASHES = ["", "9 4", "2 4", "12 3 2 3", "5 3"];
function bytesText(n) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let i = 0;
    for (; n >= 1024 && i < 3; i++) n /= 1024;
    return +n.toPrecision(3) + " " + units[i];
}
function timeText(us) {
    return us < 1000
        ? +us.toPrecision(3) + " µs"
        : us < 1e6
          ? +(us / 1e3).toPrecision(3) + " ms"
          : +(us / 1e6).toPrecision(3) + " s";
}

/* curves: {name, points: [[bytes, us], ...]}; marks: {bytes, text}; dots: whether each point is shown */
function plot(svgElement, curves, {marks = [], dots = false} = {}) {
    const width = Math.max(260, svgElement.parentElement.clientWidth - 16),
        height = Math.min(440, Math.max(300, width * 0.6)),
        edge = {left: 58, right: 26, top: 14, bottom: 42};
    const all = curves.flatMap(curve => curve.points),
        svg = d3
            .select(svgElement)
            .attr("viewBox", "0 0 " + width + " " + height)
            .attr("width", width)
            .attr("height", height);
    const x = d3
        .scaleLog()
        .base(2)
        .domain(d3.extent(all, point => point[0]))
        .range([edge.left, width - edge.right]);
    const y = d3
        .scaleLog()
        .domain(d3.extent(all, point => point[1]))
        .range([height - edge.bottom, edge.top])
        .nice();
    const [low, high] = x.domain().map(Math.log2),
        step = Math.max(1, Math.ceil((high - low) / Math.max(2, Math.floor(width / 95))));
    const powers = d3.range(Math.ceil(low), high + 0.01, step).map(i => 2 ** i),
        tens = d3.range(Math.ceil(Math.log10(y.domain()[0])), Math.log10(y.domain()[1]) + 0.01).map(i => 10 ** i);
    svg.selectAll("*").remove();
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", "translate(0," + (height - edge.bottom) + ")")
        .call(d3.axisBottom(x).tickValues(powers).tickFormat(bytesText));
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", "translate(" + edge.left + ",0)")
        .call(d3.axisLeft(y).tickValues(tens).tickFormat(timeText));
    svg.append("text")
        .attr("class", "strip")
        .attr("x", (edge.left + width) / 2)
        .attr("y", height - 6)
        .attr("text-anchor", "middle")
        .text("vector");
    for (const mark of marks) {
        if (mark.bytes < x.domain()[0] || mark.bytes > x.domain()[1]) continue;
        svg.append("line")
            .attr("x1", x(mark.bytes))
            .attr("x2", x(mark.bytes))
            .attr("y1", edge.top)
            .attr("y2", height - edge.bottom)
            .style("stroke", "var(--soft)")
            .style("stroke-dasharray", mark.dash || "3 3");
        const late = x(mark.bytes) > width * 0.6;
        svg.append("text")
            .attr("class", "strip")
            .attr("x", x(mark.bytes) + (late ? -5 : 5))
            .attr("y", edge.top + 10 + (mark.row || 0) * 14)
            .attr("text-anchor", late ? "end" : "start")
            .text(mark.text);
    }
    const line = d3
        .line()
        .x(point => x(point[0]))
        .y(point => y(point[1]));
    curves.forEach((curve, i) => {
        svg.append("path")
            .attr("class", "curve")
            .attr("d", line(curve.points))
            .style("stroke", COLOURS[i % 5])
            .style("stroke-dasharray", DASHES[i % 5])
            .append("title")
            .text(curve.name);
        if (dots)
            svg.append("g")
                .selectAll("circle")
                .data(curve.points)
                .join("circle")
                .attr("r", 3.2)
                .attr("cx", point => x(point[0]))
                .attr("cy", point => y(point[1]))
                .style("fill", COLOURS[i % 5])
                .append("title")
                .text(point => curve.name + ": " + bytesText(point[0]) + ", " + timeText(point[1]));
    });
    const legend = svgElement.parentElement.querySelector(".legend");
    legend.innerHTML = "";
    curves.forEach((curve, i) => {
        const item = document.createElement("li");
        item.innerHTML =
            '<svg width="34" height="10" aria-hidden="true"><path d="M1,5h32" style="stroke:' +
            COLOURS[i % 5] +
            ";stroke-width:2.6;fill:none;stroke-dasharray:" +
            (DASHES[i % 5] || "none") +
            '"/></svg>';
        item.append(curve.name);
        legend.append(item);
    });
}
function redrawn(draw) {
    // now, and when the window gets another width
    let width = 0;
    new ResizeObserver(() => {
        if (innerWidth !== width) {
            width = innerWidth;
            draw();
        }
    }).observe(document.body);
}
