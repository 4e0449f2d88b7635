// Shows the difference of one file. Text only, never markup: an assistant wrote it.

import type { FileDiff, Hunk, Part, Row } from "./messages";

const SIGNS = { same: " ", removed: "−", added: "+", gap: "⋯" } as const;
const SPOKEN = { same: "", removed: "Removed: ", added: "Added: ", gap: "" } as const; // for screen readers

/** Show the name and the counts of a file; return the line, to which buttons can be added. */
export function showHead(into: HTMLElement, file: FileDiff): HTMLElement {
  const head = into.createDiv({ cls: "vaultwire-file-head" });
  head.createEl("strong", { text: nameOf(file) });
  if (file.is_new) head.createSpan({ cls: "vaultwire-badge", text: "New note" });
  if (file.action === "remove") head.createSpan({ cls: "vaultwire-badge", text: "Removed" });
  const counts = head.createSpan({ cls: "vaultwire-counts" });
  counts.createSpan({ text: `+${file.added}`, attr: { role: "img", "aria-label": `${file.added} lines added` } });
  counts.createSpan({ text: `−${file.removed}`, attr: { role: "img", "aria-label": `${file.removed} lines removed` } });
  return head;
}

/** Show what is known of a file beside its hunks: properties, links, notices. */
export function showFacts(into: HTMLElement, file: FileDiff): void {
  if (file.rewritten_links) {
    into.createDiv({ cls: "vaultwire-told", text: `${count(file.rewritten_links, "link was", "links were")} rewritten.` });
  }
  for (const { words } of file.notices) into.createDiv({ cls: "vaultwire-notice", text: words });
  for (const property of file.properties) showProperty(into, property);
  for (const { line, words } of file.links) into.createDiv({ cls: "vaultwire-told", text: line ? `Line ${line}: ${words}` : words });
  for (const { words } of file.nodes) into.createDiv({ cls: "vaultwire-told", text: words });
  if (file.kind === "image" || file.kind === "binary") {
    const what = file.kind === "image" ? "picture" : "file that is not text";
    into.createDiv({ cls: "vaultwire-told", text: `This is a ${what}. The desk in the browser shows what it can of it.` });
  }
}

export function nameOf(file: FileDiff): string {
  return file.to && file.to !== file.path ? `${file.path} → ${file.to}` : file.path;
}

export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function showProperty(into: HTMLElement, { name, old, new: now }: FileDiff["properties"][number]): void {
  const row = into.createDiv({ cls: "vaultwire-property" });
  row.createSpan({ cls: "vaultwire-property-name", text: `${name}: ` });
  if (old) row.createEl("del", { text: old.text || "(empty)" });
  else row.createSpan({ text: "(none)" });
  row.createSpan({ text: " → " });
  if (now) row.createEl("ins", { text: now.text || "(empty)" });
  else row.createSpan({ text: "(none)" });
  const types = [...new Set([old?.type, now?.type].filter((type) => type))].join(" → ");
  if (types) row.createSpan({ cls: "vaultwire-type", text: ` ${types}` });
}

export function showRows(into: HTMLElement, hunk: Hunk): void {
  const rows = into.createDiv({ cls: `vaultwire-rows vaultwire-of-${hunk.kind}` });
  for (const row of hunk.rows) {
    if (row.kind === "changed") {
      showLine(rows, "removed", row.old, row.parts, row.new_parts ? "" : row.note);
      if (row.new_parts) showLine(rows, "added", row.new, row.new_parts, row.note);
    } else showLine(rows, row.kind, row.kind === "removed" ? row.old : row.new, row.parts, row.note);
  }
}

function showLine(into: HTMLElement, kind: Exclude<Row["kind"], "changed">, number: number | null, parts: Part[], note?: string): void {
  const line = into.createDiv({ cls: `vaultwire-row vaultwire-${kind}` });
  line.createSpan({ cls: "vaultwire-number", text: number === null ? "" : String(number), attr: { "aria-hidden": "true" } });
  line.createSpan({ cls: "vaultwire-sign", text: SIGNS[kind], attr: { "aria-hidden": "true" } });
  const text = line.createSpan({ cls: "vaultwire-text" });
  if (SPOKEN[kind]) text.createSpan({ cls: "vaultwire-spoken", text: SPOKEN[kind] });
  for (const part of parts) showPart(text, part);
  if (note) text.createSpan({ cls: "vaultwire-note", text: note });
}

// A hidden character is shown by its name: its effect, such as letters in another order, must not reach the page.
function showPart(into: HTMLElement, { t, op, hidden, lookalike }: Part): void {
  const at = op === "=" ? into : into.createEl(op === "+" ? "ins" : "del");
  if (hidden) at.createSpan({ cls: "vaultwire-hidden", text: hidden });
  else if (lookalike) {
    at.createSpan({ cls: "vaultwire-lookalike", text: t });
    at.createSpan({ cls: "vaultwire-hidden", text: lookalike });
  } else at.createSpan({ text: t });
}
