"use strict";
// Selection, findings, search, keys, tabs.
var state = { pass: Math.max(passes.length - 1, 0), step: 0, selected: null, finding: -1 };

function showPanel(id) {
  for (const panel of document.querySelectorAll(".panel")) panel.classList.toggle("shown", panel.id === id);
  for (const tab of document.querySelectorAll("nav button")) tab.setAttribute("aria-selected", String(tab.dataset.panel === id));
  if (id === "graph-panel") graphView.fit();
  if (id === "time-panel") { timeline.draw(); memoryChart.draw(); }
}

function select(item, reveal = true) {
  state.selected = item;
  showCard(item);
  if (item.type === "node" && reveal) {
    if (state.pass !== item.pass) { state.pass = item.pass; document.getElementById("pass").value = item.pass; graphView.refold(); }
    state.step = item.order;
    if (!graphView.shows(item)) graphView.unfold(item.order);
    stepping.show(); graphView.centreOn(item);
  }
  graphView.mark();
  timeline.show(item);
  if (reveal && window.matchMedia("(max-width: 820px)").matches) showPanel("card-panel");
}

function itemAt(file, line) {
  const fits = (x) => x.line.line === line && (x.line.file === file || x.line.file.endsWith("/" + file) || file.endsWith("/" + x.line.file));
  for (const pass of [...passes].reverse()) { const node = pass.nodes.find((n) => n.leaf === null && fits(n)); if (node) return node; }
  return calls.find(fits) || null;
}

function goToFinding(i) {
  const found = raw.findings[i];
  if (!found) return;
  state.finding = i;
  const places = [found, ...found.related];
  const item = places.map((p) => itemAt(p.file, p.line)).find(Boolean);
  if (item) select(item);
  document.querySelectorAll("#findings li")[i].focus();
}

function fillFindings() {
  const list = document.getElementById("findings");
  document.getElementById("finding-count").textContent = raw.findings.length || "";
  if (!raw.findings.length) list.append(make("li", { class: "none" }, raw.kind === "run" ? "No findings." : "A graph by itself has no findings."));
  raw.findings.forEach((f, i) => {
    const item = make("li", { class: f.severity, tabindex: 0 }, make("b", {}, `${f.severity}: ${f.kind}`), make("code", {}, `${f.file}:${f.line}`), make("div", {}, f.cause), make("div", { class: "quiet" }, f.fix));
    for (const r of f.related) item.append(make("div", { class: "quiet mono" }, `${r.role}: ${r.file}:${r.line}`));
    item.onclick = () => goToFinding(i);
    item.onkeydown = (e) => { if (e.key === "Enter") goToFinding(i); };
    list.append(item);
  });
}

function search(text) {
  const list = document.getElementById("results"), title = document.getElementById("results-title");
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  list.replaceChildren(); title.hidden = !words.length;
  if (!words.length) return;
  const hits = [];
  for (const item of [...calls, ...passes.flatMap((p) => p.nodes)]) {
    const whole = `${item.op} ${item.leaf || ""} ${item.module} ${place(item.line)} ${item.line.text} ${item.line.fn}`.toLowerCase();
    if (words.every((w) => whole.includes(w))) { hits.push(item); if (hits.length > 200) break; }
  }
  title.textContent = hits.length > 200 ? "Found more than 200" : `Found ${hits.length}`;
  for (const item of hits.slice(0, 200)) {
    const entry = make("li", { tabindex: 0 }, make("b", {}, item.type === "call" ? item.op : item.leaf !== null ? `leaf ${item.leaf}` : `${item.op} (backward #${item.order})`), make("code", {}, `${place(item.line)} ${item.line.text}`));
    entry.onclick = () => select(item);
    entry.onkeydown = (e) => { if (e.key === "Enter") select(item); };
    list.append(entry);
  }
}

function keys(e) {
  const field = document.getElementById("search"), help = document.getElementById("help");
  if (e.key === "Escape") { field.value = ""; search(""); field.blur(); return; }
  if (e.target.matches("input[type=search], select") || help.open || e.ctrlKey || e.metaKey || e.altKey) return;
  const actions = {
    "/": () => { if (window.matchMedia("(max-width: 820px)").matches) showPanel("findings-panel"); field.focus(); }, "?": () => help.showModal(),
    ArrowRight: () => stepping.go(state.step + 1), ArrowLeft: () => stepping.go(state.step - 1),
    f: () => { const fold = document.getElementById("fold"); fold.selectedIndex = (fold.selectedIndex + 1) % fold.options.length; graphView.refold(); },
    u: () => document.getElementById("unfold").click(), n: () => goToFinding((state.finding + 1) % Math.max(raw.findings.length, 1)),
    "+": () => graphView.zoomBy(1.25), "-": () => graphView.zoomBy(0.8), "0": () => graphView.fit(),
  };
  if (actions[e.key]) { e.preventDefault(); actions[e.key](); }
}

function begin() {
  const chooser = document.getElementById("pass");
  passes.forEach((p, i) => chooser.append(make("option", { value: i }, `${i + 1}${p.line.line ? ` (${place(p.line)})` : ""}`)));
  chooser.value = state.pass;
  chooser.onchange = () => { state.pass = Number(chooser.value); state.step = 0; graphView.refold(); stepping.show(); };
  document.getElementById("fold").onchange = () => graphView.refold();
  document.getElementById("unfold").onclick = () => (graphView.unfolded() ? graphView.refold() : graphView.unfold(state.step));
  document.getElementById("help-button").onclick = () => document.getElementById("help").showModal();
  let timer = 0;
  document.getElementById("search").addEventListener("input", (e) => { clearTimeout(timer); timer = setTimeout(() => search(e.target.value), 120); });
  document.addEventListener("keydown", keys);
  for (const tab of document.querySelectorAll("nav button")) tab.onclick = () => showPanel(tab.dataset.panel);
  const nodes = passes.reduce((n, p) => n + p.nodes.length, 0);
  const left = raw.callsDropped ? `, of which ${raw.callsDropped} in the middle were not kept` : "";
  document.getElementById("summary").textContent = raw.kind === "run" ? `${calls.length + raw.callsDropped} calls${left}, ${passes.length} backward passes, ${nodes} nodes` : `${nodes} nodes`;
  if (raw.kind === "graph") document.getElementById("time-panel").hidden = true;
  fillFindings();
  graphView.build(); stepping.show();
  showPanel(raw.findings.length ? "findings-panel" : "graph-panel");
  timeline.draw(); memoryChart.draw();
  window.addEventListener("resize", () => { timeline.draw(); memoryChart.draw(); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { timeline.draw(); memoryChart.draw(); });
  document.body.dataset.ready = "yes";
}
begin();
