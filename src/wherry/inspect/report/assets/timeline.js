"use strict";
// Time: a lane of forward calls, one of kernels, one of backward nodes; zoomed by wheel, moved by dragging.
const timeline = (() => {
  const canvas = document.getElementById("timeline");
  const hover = document.getElementById("hover");
  const runs = passes.flatMap((p) => p.nodes);
  const top = calls.filter((c) => !c.parent);
  const lanes = [
    { name: "forward", items: top, colour: "--forward" },
    { name: "kernel", items: top.filter((c) => c.kernelTime > 0), colour: "--mark", kernel: true },
    { name: "backward", items: runs, colour: "--backward" },
  ];
  let end = 1;
  for (const item of [...calls, ...runs]) end = Math.max(end, item.start + item.time);
  const view = { from: 0, to: end };
  const laneHeight = 30;

  const span = (item, lane) => (lane.kernel ? [item.start + Math.max(item.time - item.kernelTime, 0), item.start + item.time] : [item.start, item.start + item.time]);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function draw() {
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    canvas.width = width * ratio; canvas.height = canvas.clientHeight * ratio;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    const scale = width / (view.to - view.from);
    g.font = "10px ui-monospace, monospace";
    lanes.forEach((lane, row) => {
      const y = 6 + row * laneHeight;
      let drawn = -1;
      for (const item of lane.items) {
        const [a, b] = span(item, lane);
        if (b < view.from || a > view.to) continue;
        const x = (a - view.from) * scale, w = Math.max((b - a) * scale, 1);
        // Bars that share a pixel are drawn once.
        if (x + w < drawn + 1 && item !== state.selected) continue;
        drawn = x + w;
        g.fillStyle = item === state.selected ? colour("--now") : colour(lane.colour);
        g.fillRect(x, y + 10, w, laneHeight - 13);
        if (w > 40) { g.fillStyle = colour("--ink"); g.fillText(item.op.slice(0, Math.floor(w / 6.5)), Math.max(x, 0) + 2, y + 22); }
      }
      g.fillStyle = colour("--quiet"); g.fillText(lane.name, 3, y + 7);
    });
  }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    const time = view.from + ((event.clientX - box.left) / box.width) * (view.to - view.from);
    const lane = lanes[Math.min(Math.max(Math.floor((event.clientY - box.top - 6) / laneHeight), 0), lanes.length - 1)];
    const near = (view.to - view.from) / box.width * 3;
    let best = null, distance = Infinity;
    for (const item of lane.items) {
      const [a, b] = span(item, lane);
      const d = time < a ? a - time : time > b ? time - b : 0;
      if (d < distance) { best = item; distance = d; }
    }
    return distance <= near ? best : null;
  }

  function zoom(factor, centre) {
    const width = Math.min(Math.max((view.to - view.from) * factor, end / 1e6), end);
    const part = (centre - view.from) / (view.to - view.from);
    view.from = Math.min(Math.max(centre - part * width, 0), end - width);
    view.to = view.from + width;
    draw();
  }

  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, view.from + ((e.clientX - box.left) / box.width) * (view.to - view.from));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => { if ("+-".includes(e.key)) { zoom(e.key === "+" ? 0.8 : 1.25, (view.from + view.to) / 2); e.stopPropagation(); } });
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: view.from, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) {
      const width = view.to - view.from;
      const shift = ((e.clientX - drag.x) / canvas.clientWidth) * width;
      if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
      if (drag.moved) { view.from = Math.min(Math.max(drag.from - shift, 0), end - width); view.to = view.from + width; draw(); }
      return;
    }
    const item = at(e);
    hover.textContent = item ? `${item.op}  ${timeText(item.time)}  ${place(item.line)}  ${item.line.text}` : "\u00a0";
  });
  canvas.addEventListener("pointerup", (e) => { const item = drag && !drag.moved && at(e); drag = null; if (item) select(item); });
  return { draw, view, end, show(item) { if (item.start < view.from || item.start > view.to) { const w = view.to - view.from; view.from = Math.max(item.start - w / 2, 0); view.to = view.from + w; } draw(); } };
})();
