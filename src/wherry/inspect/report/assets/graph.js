"use strict";
// The backward graph: boxes for nodes, or for all nodes of a line or module; laid out by dagre, moved by dragging, zoomed by wheel.
const graphView = (() => {
  const svg = document.getElementById("graph"), view = document.getElementById("view"), note = document.getElementById("graph-note");
  const SVG = "http://www.w3.org/2000/svg";
  // More boxes than this are neither laid out quickly nor read by anyone.
  const MOST = 260;
  const MANY_LEAVES = 4;
  let transform = { x: 20, y: 20, k: 1 };
  let boxes = new Map(), boxOfNode = new Map(), around = null;

  const keyOf = {
    none: (n) => `n${n.node}`,
    line: (n) => (n.leaf !== null ? `leaf ${n.node}` : `l${n.line.id}`),
    module: (n) => (n.leaf !== null ? `leaf ${n.node}` : n.module ? `m${n.module}` : `l${n.line.id}`),
  };

  // Folded, the leaves that one box sends gradients to are one box where they are many.
  function withLeaves(pass, key) {
    const sender = new Map(), count = new Map();
    for (const n of pass.nodes) for (const t of n.targets) { const leaf = pass.byNode.get(t); if (leaf && leaf.leaf !== null && !sender.has(leaf)) sender.set(leaf, key(n)); }
    for (const k of sender.values()) count.set(k, (count.get(k) || 0) + 1);
    return (n) => (n.leaf !== null && count.get(sender.get(n)) > MANY_LEAVES ? `leaves ${sender.get(n)}` : key(n));
  }

  function visible(pass) {
    const fold = document.getElementById("fold").value;
    let nodes = pass.nodes, text = "";
    let key = keyOf[around !== null ? "none" : fold];
    if (around === null && fold !== "none") key = withLeaves(pass, key);
    if (around !== null) nodes = pass.nodes.slice(Math.max(around - MOST / 2, 0), around + MOST / 2);
    let count = new Set(nodes.map(key)).size;
    if (count > MOST && around === null) {
      const inner = key;
      // Leaves of a folded graph go into one box each line sends them to; what is still too much is cut.
      if (fold !== "none") { key = (n) => (n.leaf !== null ? "leaves" : inner(n)); count = new Set(nodes.map(key)).size; }
      if (count > MOST) { const centre = state.selected && state.selected.type === "node" ? state.selected.order : 0; nodes = pass.nodes.slice(Math.max(centre - MOST / 2, 0), centre + MOST / 2); }
    }
    if (nodes.length < pass.nodes.length) text = `${nodes.length} of ${pass.nodes.length} nodes, around #${nodes[Math.floor(nodes.length / 2)].order}`;
    else text = `${pass.nodes.length} nodes in ${count} boxes`;
    if (pass.dropped) text += `; ${pass.dropped} in between were not kept`;
    note.textContent = text;
    return { nodes, key };
  }

  function labels(box) {
    const first = box.nodes[0];
    if (box.key.startsWith("leaves")) return [`${box.nodes.length} leaves`, box.nodes.slice(0, 2).map((n) => n.leaf).join(", ") + (box.nodes.length > 2 ? ", ..." : "")];
    if (first.leaf !== null) return [first.leaf, "leaf"];
    if (box.nodes.length === 1) return [`${first.op} #${first.order}`, place(first.line)];
    const ops = new Map();
    for (const n of box.nodes) ops.set(n.op, (ops.get(n.op) || 0) + 1);
    const names = [...ops].slice(0, 3).map(([op, n]) => (n > 1 ? `${op} x${n}` : op)).join(", ") + (ops.size > 3 ? ", ..." : "");
    return [names, box.key.startsWith("m") ? first.module.split("/").pop() : place(first.line)];
  }

  function build() {
    const pass = passes[state.pass];
    view.replaceChildren(); boxes = new Map(); boxOfNode = new Map();
    if (!pass) { note.textContent = "no backward pass was recorded"; return; }
    const { nodes, key } = visible(pass);
    for (const n of nodes) {
      const k = key(n);
      if (!boxes.has(k)) boxes.set(k, { key: k, nodes: [] });
      boxes.get(k).nodes.push(n); boxOfNode.set(n.node, boxes.get(k));
    }
    const layout = new dagre.graphlib.Graph();
    layout.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 26 });
    layout.setDefaultEdgeLabel(() => ({}));
    for (const box of boxes.values()) {
      box.labels = labels(box);
      box.width = Math.max(60, 7 * Math.max(...box.labels.map((t) => t.length)) + 14); box.height = 34;
      layout.setNode(box.key, { width: box.width, height: box.height });
    }
    const edges = new Map();
    for (const n of nodes) for (const t of n.targets) {
      const to = boxOfNode.get(t), from = boxOfNode.get(n.node);
      if (to && to !== from) { const id = `${from.key}\n${to.key}`; edges.set(id, (edges.get(id) || 0) + 1); }
    }
    for (const id of edges.keys()) { const [a, b] = id.split("\n"); layout.setEdge(a, b); }
    dagre.layout(layout);
    for (const e of layout.edges()) {
      const points = layout.edge(e).points;
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", points.map((p, i) => `${i ? "L" : "M"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join(" "));
      view.append(path);
    }
    for (const box of boxes.values()) {
      const { x, y } = layout.node(box.key);
      const g = document.createElementNS(SVG, "g");
      g.setAttribute("class", "box" + (box.nodes[0].leaf !== null ? " leaf" : ""));
      g.setAttribute("transform", `translate(${x - box.width / 2} ${y - box.height / 2})`);
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("width", box.width); rect.setAttribute("height", box.height);
      const head = document.createElementNS(SVG, "text"); head.setAttribute("x", 7); head.setAttribute("y", 14); head.textContent = box.labels[0];
      const small = document.createElementNS(SVG, "text"); small.setAttribute("x", 7); small.setAttribute("y", 27); small.setAttribute("class", "small"); small.textContent = box.labels[1];
      g.append(rect, head, small);
      g.addEventListener("click", () => { if (!moved) select(box.nodes.find((n) => n === state.selected) ? box.nodes[(box.nodes.indexOf(state.selected) + 1) % box.nodes.length] : box.nodes[0]); });
      box.x = x; box.y = y; box.element = g;
      view.append(g);
    }
    const size = layout.graph();
    view.dataset.width = size.width || 1; view.dataset.height = size.height || 1;
    fit(); mark();
  }

  function place_() { view.setAttribute("transform", `translate(${transform.x} ${transform.y}) scale(${transform.k})`); }
  function fit() {
    if (!view.dataset.width) return;
    const w = svg.clientWidth || 600, h = svg.clientHeight || 400;
    // Readable before complete: what does not fit is reached by dragging.
    const whole = Math.min((w - 20) / Number(view.dataset.width), (h - 20) / Number(view.dataset.height));
    const k = Math.min(1.2, Math.max(whole, 0.45));
    transform = { x: (w - Number(view.dataset.width) * k) / 2, y: 10, k };
    place_();
  }
  function zoom(factor, cx, cy) {
    const k = Math.min(Math.max(transform.k * factor, 0.02), 4), ratio = k / transform.k;
    transform = { x: cx - (cx - transform.x) * ratio, y: cy - (cy - transform.y) * ratio, k };
    place_();
  }
  function mark() {
    const pass = passes[state.pass];
    const faulty = new Set((raw.findings || []).filter((f) => f.severity !== "note").map((f) => `${f.file}:${f.line}`));
    for (const box of boxes.values()) {
      const done = box.nodes.every((n) => n.order < state.step), now = pass.nodes[state.step] && boxOfNode.get(pass.nodes[state.step].node) === box;
      box.element.classList.toggle("done", done); box.element.classList.toggle("now", Boolean(now));
      box.element.classList.toggle("selected", box.nodes.includes(state.selected));
      box.element.classList.toggle("faulty", box.nodes[0].leaf === null && faulty.has(`${box.nodes[0].line.file}:${box.nodes[0].line.line}`));
    }
  }
  function centreOn(node) {
    const box = boxOfNode.get(node.node);
    if (!box) return;
    const x = box.x * transform.k + transform.x, y = box.y * transform.k + transform.y;
    if (x < 20 || y < 20 || x > svg.clientWidth - 20 || y > svg.clientHeight - 20) {
      transform.x += svg.clientWidth / 2 - x; transform.y += svg.clientHeight / 2 - y; place_();
    }
  }
  let drag = null, moved = false;
  svg.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, tx: transform.x, ty: transform.y }; moved = false; });
  window.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 4) moved = true;
    if (moved) { transform.x = drag.tx + e.clientX - drag.x; transform.y = drag.ty + e.clientY - drag.y; place_(); }
  });
  window.addEventListener("pointerup", () => { drag = null; setTimeout(() => { moved = false; }, 0); });
  svg.addEventListener("wheel", (e) => { e.preventDefault(); const b = svg.getBoundingClientRect(); zoom(e.deltaY > 0 ? 0.87 : 1.15, e.clientX - b.left, e.clientY - b.top); }, { passive: false });
  return {
    build, mark, fit, centreOn, shows: (node) => boxOfNode.has(node.node),
    zoomBy(f) { zoom(f, svg.clientWidth / 2, svg.clientHeight / 2); },
    unfold(order) { around = order; build(); }, refold() { around = null; build(); }, unfolded: () => around !== null,
    boxCount: () => boxes.size,
  };
})();
