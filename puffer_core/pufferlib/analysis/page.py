"""The style and the script of a report. Both are part of the page: it needs no network."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --back: #f6f7f9; --card: #ffffff; --ink: #1d2430; --soft: #626d7d; --edge: #dfe3e9;
  --grid: #e8ebf0; --accent: #0b6e99; --mark: #fff3d6; --mark-ink: #7a4a00; --line0: #0072b2; --line1: #d55e00;
  --good: #00805e; --bad: #b3362b; }
@media (prefers-color-scheme: dark) { :root { --back: #12161d; --card: #1b212b; --ink: #e6eaf0; --soft: #98a3b3;
  --edge: #2d3542; --grid: #2a323e; --accent: #5cc0e8; --mark: #3a3015; --mark-ink: #ffd27a; --line0: #5cb8f0;
  --line1: #ff9f5a; --good: #3fcf9f; --bad: #ff8a7d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial,
  sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 12px; }
h3 { font-size: 13px; margin: 0 0 6px; color: var(--soft); font-weight: 600; }
p { margin: 6px 0; }
.soft { color: var(--soft); }
code, pre, .mono { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 12px; margin: 8px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.badge { display: inline-block; border-radius: 999px; padding: 1px 12px; font-size: 13px; font-weight: 600; color: var(--card);
  background: var(--soft); vertical-align: 4px; margin-left: 8px; }
.badge.finished { background: var(--good); }
.badge.running { background: var(--accent); }
.badge.failed { background: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 18px; }
.tile, .card { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 12px 14px; min-width: 0; }
.tile b { display: block; font-size: 22px; line-height: 1.3; font-weight: 650; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 14px; align-items: start; }
.tables { columns: 3 320px; column-gap: 14px; }
.tables .card { break-inside: avoid; margin-bottom: 14px; display: inline-block; width: 100%; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 8px; border-bottom: 1px solid var(--grid); vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; font-size: 13px; }
tr:last-child td { border-bottom: 0; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.changed td { background: var(--mark); color: var(--mark-ink); }
.usual { display: block; font-size: 12px; opacity: 0.85; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
svg text { fill: var(--soft); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg polyline { stroke-linejoin: round; }
svg polyline.line0 { stroke: var(--line0); }
svg polyline.line1 { stroke: var(--line1); }
svg circle.line0, svg text.line0 { fill: var(--line0); }
svg circle.line1, svg text.line1 { fill: var(--line1); }
svg .name { font-weight: 600; }
svg .rule { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg .said { fill: var(--ink); font-weight: 600; paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
video, img { max-width: 100%; border-radius: 10px; border: 1px solid var(--edge); background: #000; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
"""
SCRIPT = """
"use strict";
const make = (svg, name, attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  return svg.appendChild(node);
};
const shown = value => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(value);
for (const svg of document.querySelectorAll("svg[data-lines]")) {
  const lines = JSON.parse(svg.dataset.lines), box = svg.viewBox.baseVal;
  const rule = make(svg, "line", {class: "rule", y1: 8, y2: box.height - 26, visibility: "hidden"});
  const parts = lines.map((line, i) => ({
    dot: make(svg, "circle", {class: "line" + i, r: 3.5, visibility: "hidden"}),
    text: make(svg, "text", {class: "said", visibility: "hidden"}),
  }));
  const show = visibility => [rule, ...parts.flatMap(part => [part.dot, part.text])]
    .forEach(node => node.setAttribute("visibility", visibility));
  svg.addEventListener("pointerleave", () => show("hidden"));
  svg.addEventListener("pointermove", event => {
    const frame = svg.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width * box.width;
    lines.forEach((line, i) => {
      let k = 0;
      line.px.forEach((at, j) => { if (Math.abs(at - x) < Math.abs(line.px[k] - x)) k = j; });
      const left = line.px[k] > box.width / 2, {dot, text} = parts[i];
      dot.setAttribute("cx", line.px[k]);
      dot.setAttribute("cy", line.py[k]);
      rule.setAttribute("x1", line.px[k]);
      rule.setAttribute("x2", line.px[k]);
      text.setAttribute("x", line.px[k] + (left ? -8 : 8));
      text.setAttribute("y", box.height - 34 - 14 * (lines.length - 1 - i));
      text.setAttribute("text-anchor", left ? "end" : "start");
      const name = lines.length > 1 ? line.name + " " : "";
      text.textContent = name + shown(line.smooth[k]) + " (logged " + shown(line.raw[k]) + ") at " + shown(line.steps[k]);
    });
    show("visible");
  });
}
"""
