// Rows of a hunk: lines with their marks, tables by cell, hidden characters by name. Pure: data in, elements out.

import { html } from "./vendor/htm-preact-3.1.1.js";

const SAME_ENOUGH = 0.4; // the share of a changed line that must have stayed for its words to be marked in one line

function mark(part, index) {
  const inside = part.hidden
    ? html`<span class="unseen" title=${part.hidden}>${part.hidden}</span>`
    : part.lookalike ? html`<span class="alike" title=${part.lookalike}>${part.t}<small>${part.lookalike}</small></span>` : part.t;
  if (part.op === "-") return html`<del key=${index}>${inside}</del>`;
  if (part.op === "+") return html`<ins key=${index}>${inside}</ins>`;
  return part.hidden || part.lookalike ? html`<span key=${index}>${inside}</span>` : inside;
}

export function Parts({ parts }) {
  return (parts ?? []).map(mark);
}

// Both versions of a changed line as one: what went, then what came, between what stayed. Null if they share too little.
export function woven(old, fresh) {
  const same = old.filter((part) => part.op === "=").reduce((sum, part) => sum + part.t.length, 0);
  const all = Math.max(length(old), length(fresh));
  if (all === 0 || same / all < SAME_ENOUGH) return null;
  const left = stretches(old);
  const right = stretches(fresh);
  if (left.same !== right.same) return null;
  const out = [];
  let at = 0;
  const changes = [...left.changes, ...right.changes].sort((one, other) => one.at - other.at); // stable: what went comes first
  for (const change of [...changes, { at: left.same.length, part: null }]) {
    if (change.at > at) out.push(...slice(fresh, at, change.at));
    at = Math.max(at, change.at);
    if (change.part) out.push(change.part);
  }
  return out;
}

function length(parts) {
  return parts.reduce((sum, part) => sum + part.t.length, 0);
}

// What stayed as one text, and each changed part with its place in that text.
function stretches(parts) {
  let same = "";
  const changes = [];
  for (const part of parts) {
    if (part.op === "=") same += part.t;
    else changes.push({ at: same.length, part });
  }
  return { same, changes };
}

function slice(parts, from, to) {
  const out = [];
  let at = 0;
  for (const part of parts) {
    if (part.op !== "=") continue;
    const t = part.t.slice(Math.max(from - at, 0), Math.max(to - at, 0));
    if (t) out.push({ ...part, t });
    at += part.t.length;
  }
  return out;
}

// A line that came or went as a whole needs no mark of its words.
function textClass(parts) {
  return parts.length === 1 && parts[0].op !== "=" ? "text whole" : "text";
}

const SIGNS = { same: ["", ""], removed: ["−", "removed"], added: ["+", "added"], changed: ["±", "changed"] };

function Line({ kind, old, fresh, parts, note }) {
  const [sign, words] = SIGNS[kind];
  return html`<div class="line" data-kind=${kind}>
    <span class="no" data-no=${old ?? ""}></span><span class="no" data-no=${fresh ?? ""}></span>
    <span class="sign">${sign && html`<span aria-hidden="true">${sign}</span><span class="hidden">${words}: </span>`}</span>
    <span class=${textClass(parts)}><${Parts} parts=${parts} />${note && html` <em class="remark">${note}</em>`}</span></div>`;
}

function Half({ kind, number, parts, note }) {
  const [sign, words] = SIGNS[kind] ?? ["", ""];
  return html`<span class="no" data-no=${number ?? ""} data-kind=${kind}></span>
    <span class="sign" data-kind=${kind}>${sign && html`<span aria-hidden="true">${sign}</span><span class="hidden">${words}: </span>`}</span>
    <span class=${textClass(parts)} data-kind=${kind}><${Parts} parts=${parts} />${note && html` <em class="remark">${note}</em>`}</span>`;
}

function Unified({ row }) {
  if (row.kind !== "changed") return html`<${Line} kind=${row.kind} old=${row.old} fresh=${row.new} parts=${row.parts} note=${row.note} />`;
  const one = woven(row.parts, row.new_parts);
  if (one) return html`<${Line} kind="changed" old=${row.old} fresh=${row.new} parts=${one} note=${row.note} />`;
  return html`<${Line} kind="removed" old=${row.old} parts=${row.parts} /><${Line} kind="added" fresh=${row.new} parts=${row.new_parts} note=${row.note} />`;
}

function Side({ row }) {
  const hasOld = row.kind !== "added";
  const hasNew = row.kind !== "removed";
  const isSame = row.kind === "same";
  return html`<div class="pair">
    <${Half} kind=${!hasOld ? "none" : isSame ? "same" : "removed"} number=${row.old} parts=${hasOld ? row.parts : []} />
    <${Half} kind=${!hasNew ? "none" : isSame ? "same" : "added"} number=${row.new} parts=${row.kind === "changed" ? row.new_parts : hasNew ? row.parts : []} note=${row.note} /></div>`;
}

function Table({ rows }) {
  return html`<div class="table-rows"><table><tbody>${rows.map((row, index) => html`<tr key=${index} data-kind=${row.kind}>
    <th scope="row"><span class="no" data-no=${row.new ?? row.old ?? ""}></span> ${SIGNS[row.kind]?.[0]}<span class="hidden"> ${SIGNS[row.kind]?.[1]}</span></th>
    ${row.cells.map((cell, at) => html`<td key=${at}><${Parts} parts=${cell} /></td>`)}</tr>`)}</tbody></table></div>`;
}

const DASHES = /^[\s>|:-]*-[\s>|:-]*$/; // the row below a table's head says nothing once the table is drawn
const BLOCK = 60; // rows that the browser may leave undrawn together

// Rows in blocks: rows of tables together, others by lines.
export function Rows({ rows, layout }) {
  const blocks = [];
  for (const row of rows) {
    if (!row.cells && row.kind === "same" && blocks.at(-1)?.isTable && DASHES.test(row.parts.map((part) => part.t).join(""))) continue;
    const isTable = Boolean(row.cells?.length);
    const last = blocks.at(-1);
    if (last && last.isTable === isTable && last.rows.length < BLOCK) last.rows.push(row);
    else blocks.push({ isTable, rows: [row] });
  }
  return blocks.map((block, index) => (block.isTable
    ? html`<${Table} key=${index} rows=${block.rows} />`
    : html`<div key=${index} class="block" data-layout=${layout}>${block.rows.map((row, at) => (row.kind === "gap"
      ? html`<div key=${at} class="gap">⋯</div>`
      : layout === "split" ? html`<${Side} key=${at} row=${row} />` : html`<${Unified} key=${at} row=${row} />`))}</div>`));
}
