"use strict";
// Stepping through a pass: which node is next, what the holders have, how many edges each node still waits for.
const stepping = (() => {
  const slider = document.getElementById("step"), text = document.getElementById("step-text"), holders = document.getElementById("holders");
  const MOST_ROWS = 60;

  // What has arrived at nodes that have not run when `step` nodes have.
  function waiting(pass, step) {
    const arrived = new Map();
    for (let i = Math.max(0, step - 5000); i < step; i++) {
      for (const d of pass.nodes[i].row[12]) {
        const target = pass.byNode.get(d[0]);
        if (!target || target.order < step) continue;
        const entry = arrived.get(target) || { count: 0, parts: [] };
        entry.count += 1;
        if (!d[5]) entry.parts.push(d[3] ? `norm ${d[3][3]}` : str(d[4]));
        arrived.set(target, entry);
      }
    }
    return [...arrived].sort((a, b) => a[0].order - b[0].order);
  }
  function show() {
    const pass = passes[state.pass];
    if (!pass) return;
    slider.max = pass.nodes.length; slider.value = state.step;
    const node = pass.nodes[state.step];
    text.textContent = node ? `#${state.step} of ${pass.nodes.length}: ${node.leaf !== null ? `add to ${node.leaf}` : node.op} ${place(node.line)}` : `done: ${pass.nodes.length} nodes`;
    const rows = waiting(pass, state.step);
    const table = make("table", { class: "plain" }, make("tr", {}, ...["waiting", "arrived", "in its holder"].map((t) => make("th", {}, t))));
    for (const [target, entry] of rows.slice(0, MOST_ROWS)) {
      const name = target.leaf !== null ? `leaf ${target.leaf}` : `${target.op} #${target.order}`;
      table.append(make("tr", {}, make("td", {}, name), make("td", {}, `${entry.count} of ${Math.max(target.inDegree, entry.count)}`), make("td", {}, entry.parts.join(" + ") || "nothing")));
    }
    if (!rows.length) table.append(make("tr", {}, make("td", {}, state.step ? "nothing waits" : "the roots hold their seeds")));
    if (rows.length > MOST_ROWS) table.append(make("tr", {}, make("td", {}, `and ${rows.length - MOST_ROWS} more`)));
    holders.replaceChildren(table);
    graphView.mark();
  }
  function go(step) {
    const pass = passes[state.pass];
    if (!pass) return;
    state.step = Math.min(Math.max(step, 0), pass.nodes.length);
    const node = pass.nodes[state.step];
    if (node) {
      if (!graphView.shows(node)) { if (graphView.unfolded()) graphView.unfold(node.order); else graphView.build(); }
      select(node, false);
      graphView.centreOn(node);
    }
    show();
  }
  slider.addEventListener("input", () => go(Number(slider.value)));
  document.getElementById("first").onclick = () => go(0);
  document.getElementById("back").onclick = () => go(state.step - 1);
  document.getElementById("next").onclick = () => go(state.step + 1);
  return { go, show };
})();
