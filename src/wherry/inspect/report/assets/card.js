"use strict";
// The card of a call (its five layers) or of a node (what it received, made and sent on).
function cardRow(table, head, texts) {
  const cell = make("td");
  for (const text of texts.filter((t) => t !== "" && t !== undefined)) {
    const bad = /\b[1-9]\d* (nan|inf)\b/.test(text);
    cell.append(make("div", bad ? { class: "bad" } : {}, text));
  }
  table.append(make("tr", {}, make("th", { scope: "row" }, head), cell));
}

const tensorText = (t) => `${t.kind}${t.name ? ` ${t.name}` : ""}`;

function callCard(call) {
  const d = callDetails(call);
  const table = make("table");
  cardRow(table, "line", [fullPlace(call.line), call.line.text, call.module ? `in ${call.module}` : ""]);
  if (d.error) cardRow(table, "raised", [d.error]);
  cardRow(table, "1 API", [d.api || (call.kind === "p" ? "PyLayer.apply" : "an operator or method of Tensor")]);
  cardRow(table, "2 arguments", [...d.inputs.map((f) => `${f.name}: ${tensorText(f.given)}`), ...d.attrs]);
  const saved = d.saved.map((s) => `saved ${s.name}: ${s.kind}, ${sizeText(s.bytes)}${s.why ? ` for the gradient of ${s.why}` : ""}`);
  cardRow(table, "3 autograd", [
    `AMP: ${d.amp || "off"}`, `promotion: ${d.promotion || "none"}`, call.node ? `recorded as node ${call.node}` : `not recorded: ${d.notRecorded}`,
    ...d.inputs.map((f) => `${f.name}: ${f.gradient}`), ...saved,
  ]);
  if (call.kind !== "p") {
    cardRow(table, "4 library", [d.key ? `KernelKey ${d.key}` : "", ...d.steps, `PrepareData: ${d.transforms.join("; ") || "nothing to do"}`, `InferMeta: ${d.inferred}`]);
  }
  cardRow(table, call.kind === "p" ? "4-5 forward" : "5 kernel", [d.kernel, ...d.outputs.map((t) => `returned ${tensorText(t)} ${statText(t.stat)}`)]);
  cardRow(table, "time", [`${timeText(call.time)}: AMP and promotion ${timeText(call.prepare)}, kernel ${timeText(call.kernelTime)}`]);
  for (const pass of passes) {
    const run = call.node && pass.byNode.get(call.node);
    if (run) { const link = make("button", {}, `its backward, #${run.order} of pass ${pass.number + 1}`); link.onclick = () => select(run); table.append(make("tr", {}, make("th"), make("td", {}, link))); }
  }
  return table;
}

function nodeCard(node) {
  const d = nodeDetails(node);
  const pass = passes[node.pass];
  const table = make("table");
  if (node.leaf !== null) cardRow(table, "leaf", [node.leaf]);
  else cardRow(table, "recorded at", [fullPlace(node.line), node.line.text, node.module ? `in ${node.module}` : ""]);
  cardRow(table, "order", [`#${node.order} of ${pass.nodes.length}, in-degree ${node.inDegree}`]);
  cardRow(table, "received", d.arrived.map((s, i) => `${i}: ${s ? statText(s) : "no gradient"}`));
  if (d.hooks.length) cardRow(table, "hooks", d.hooks.map((h) => `${h.fn} (${place(h.line)}): ${h.changed ? `changed it to ${statText(h.after)}` : "left it"}`));
  if (d.saved.length) cardRow(table, "saved", d.saved.map((s) => `${s.name}: ${s.kind}, ${sizeText(s.bytes)}`));
  if (d.results.length) cardRow(table, "made", d.results.map((s, i) => `for input ${i}: ${s ? statText(s) : "none"}`));
  cardRow(table, "sent to", d.deliveries.map((e) => { const t = pass.byNode.get(e.target); return `${t ? (t.leaf !== null ? `leaf ${t.leaf}` : `${t.op} #${t.order}`) : "a node that did not run"}: ${e.none ? "none" : `${e.kind} ${statText(e.stat)}`}`; }));
  if (d.kernels.length) cardRow(table, "kernels", d.kernels);
  if (raw.kind === "run") cardRow(table, "time", [timeText(node.time)]);
  const forward = callOfNode.get(node.node);
  if (forward) { const link = make("button", {}, "its forward call"); link.onclick = () => select(forward); table.append(make("tr", {}, make("th"), make("td", {}, link))); }
  return table;
}

function showCard(item) {
  const card = document.getElementById("card");
  const title = make("h3", {}, item.type === "call" ? item.op : item.leaf !== null ? `leaf ${item.leaf}` : `${item.op} (backward)`);
  card.replaceChildren(title, item.type === "call" ? callCard(item) : nodeCard(item));
}
