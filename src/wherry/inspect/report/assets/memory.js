"use strict";
// Live bytes over time.
const memoryChart = (() => {
  const canvas = document.getElementById("memory");
  const text = document.getElementById("memory-text");
  const points = raw.memory;
  let peak = [0, 0];
  for (const p of points) if (p[1] > peak[1]) peak = p;
  const end = points.length ? points[points.length - 1][0] || 1 : 1;

  function near(time) {
    let low = 0, high = points.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (points[mid][0] <= time) low = mid; else high = mid - 1; }
    return points[low];
  }
  function callAt(time) {
    let found = null;
    for (const c of calls) { if (c.start + c.time > time + 1) break; found = c; }
    return found;
  }
  function draw() {
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    g.strokeStyle = style.getPropertyValue("--forward").trim();
    g.beginPath();
    points.forEach(([t, n], i) => { const x = (t / end) * width, y = height - 4 - (n / (peak[1] || 1)) * (height - 18); if (i) g.lineTo(x, y); else g.moveTo(x, y); });
    g.stroke();
    g.fillStyle = style.getPropertyValue("--quiet").trim();
    g.font = "10px ui-monospace, monospace";
    g.fillText(points.length ? `peak ${sizeText(peak[1])}` : "nothing recorded", 4, 10);
  }
  canvas.addEventListener("pointermove", (e) => {
    if (!points.length) return;
    const box = canvas.getBoundingClientRect();
    const p = near(((e.clientX - box.left) / box.width) * end);
    const call = callAt(p[0]);
    text.textContent = `${sizeText(p[1])} after ${timeText(p[0])}${call ? `  ${call.op}  ${place(call.line)}` : ""}`;
  });
  canvas.addEventListener("pointerup", (e) => {
    const box = canvas.getBoundingClientRect();
    const call = points.length && callAt(near(((e.clientX - box.left) / box.width) * end)[0]);
    if (call) select(call);
  });
  return { draw };
})();
