"use strict";
// The data of the page in a form that is easy to use; report/compact.py writes it.
const raw = JSON.parse(document.getElementById("data").textContent);
const str = (i) => raw.strings[i];

function lineOf(i) {
  const [file, line, fn, text] = raw.lines[i];
  return { file: str(file), line, fn: str(fn), text: str(text), id: i };
}
const lines = raw.lines.map((_, i) => lineOf(i));
const baseName = (file) => file.split("/").pop();
const place = (line) => (line.line ? `${baseName(line.file)}:${line.line}` : "");
const fullPlace = (line) => (line.line ? `${line.file}:${line.line}, in ${line.fn}` : "an unknown line");

const toTensor = (t) => ({ number: t[0], kind: str(t[1]), name: str(t[2]), bytes: t[3], stat: t[4] });
const calls = raw.calls.map((c, order) => ({
  type: "call", order, index: c[0], op: str(c[1]), kind: c[2], line: lines[c[3]], module: str(c[4]), parent: c[5], start: c[6], time: c[7],
  prepare: c[8], kernelTime: c[9], node: c[10], row: c,
}));

// The columns that only a card needs are read when one is shown.
function callDetails(call) {
  const c = call.row;
  return {
    api: str(c[11]), amp: str(c[12]), promotion: str(c[13]), notRecorded: str(c[14]), inferred: str(c[15]), steps: c[16].map(str),
    transforms: c[17].map(str), kernel: str(c[18]), key: str(c[19]),
    inputs: c[20].map((f) => ({ name: str(f[0]), dtype: str(f[1]), gradient: str(f[2]), given: toTensor(f.slice(3)) })),
    outputs: c[21].map(toTensor),
    saved: c[22].map((s) => ({ name: str(s[0]), kind: str(s[1]), bytes: s[2], why: str(s[3]), version: s[4] })),
    attrs: c[23].map((a) => `${str(a[0])}=${str(a[1])}`), error: str(c[24]),
  };
}

const callOfNode = new Map();
for (const call of calls) if (call.node) callOfNode.set(call.node, call);

const passes = raw.passes.map((p, number) => {
  const nodes = p.nodes.map((n, order) => {
    const forward = callOfNode.get(n[1]);
    return {
      type: "node", pass: number, order, index: n[0], node: n[1], op: str(n[2]), line: lines[n[3]], leaf: n[4] === null ? null : str(n[4]),
      inDegree: n[5], start: n[6], time: n[7], row: n, targets: n[12].map((d) => d[0]),
      module: forward ? forward.module : raw.modules && raw.modules[n[1]] ? str(raw.modules[n[1]]) : "",
    };
  });
  const byNode = new Map(nodes.map((n) => [n.node, n]));
  return { number, line: lines[p.line], start: p.start, time: p.seconds, error: str(p.error), dropped: p.dropped, nodes, byNode };
});

function nodeDetails(node) {
  const n = node.row;
  return {
    arrived: n[8], results: n[9], kernels: n[10].map(str),
    hooks: n[11].map((h) => ({ fn: str(h[0]), line: lines[h[1]], changed: h[2], before: h[3], after: h[4] })),
    deliveries: n[12].map((d) => ({ target: d[0], output: d[1], input: d[2], stat: d[3], kind: str(d[4]), none: d[5] })),
    saved: ((raw.saved && raw.saved[node.node]) || []).map((s) => ({ name: str(s[0]), kind: str(s[1]), bytes: s[2], why: "", version: s[4] })),
  };
}

function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  for (const unit of ["KiB", "MiB", "GiB"]) { bytes /= 1024; if (bytes < 1024 || unit === "GiB") return `${bytes.toFixed(1)} ${unit}`; }
}
const timeText = (us) => (us < 1000 ? `${us.toFixed(1)} us` : us < 1e6 ? `${(us / 1000).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`);
function statText(s) {
  if (!s) return "";
  const bad = (s[4] ? `, ${s[4]} nan` : "") + (s[5] ? `, ${s[5]} inf` : "");
  return `min ${s[0]}, max ${s[1]}, mean ${s[2]}, norm ${s[3]}${bad}`;
}
const isBad = (s) => Boolean(s && (s[4] || s[5]));

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
