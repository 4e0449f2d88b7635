// The keys of the page. Fields and dialogs keep theirs, and a key that is held down acts once.

import { advance, canEdit } from "./acting.js";
import { advanceHunk, canAcceptParts } from "./diff.js";
import { focusRow } from "./list.js";
import { waits } from "./words.js";

function isTyping(target) {
  return target.closest?.("input, textarea, select, [contenteditable], dialog") !== null && target.closest !== undefined;
}

function hunkInFocus() {
  const hunk = document.activeElement?.closest("[data-hunk]");
  if (!hunk) return null;
  const [file, index] = hunk.dataset.hunk.split(" ").map(Number);
  return { file, hunk: index };
}

function step(desk, by) {
  const next = desk.step(by);
  if (next) focusRow(next.id);
}

function stepHunk(by) {
  const all = [...document.querySelectorAll("[data-hunk]")].filter((each) => each.checkVisibility()); // not those that are folded
  const at = all.indexOf(document.activeElement?.closest("[data-hunk]"));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

async function decide(desk, kind) {
  const { detail, editing, route } = desk.state;
  if (!detail || editing || route.kind !== "item") return desk.say("First choose a change, with j or k.");
  const part = waits(detail) && (kind === "no" || !canAcceptParts(detail)) ? null : hunkInFocus();
  if (part) return advanceHunk(desk, detail, part, kind, null);
  if (kind === "no" && waits(detail)) return desk.no(detail);
  const wasInList = document.getElementById("list")?.contains(document.activeElement);
  const done = await advance(desk, detail, null, () => desk[kind](detail));
  if (wasInList && typeof done === "string") focusRow(done);
  return done;
}

function edit(desk) {
  const { detail, route } = desk.state;
  if (route.kind === "item" && detail && waits(detail) && detail.files.some(canEdit)) desk.set({ editing: { id: detail.id } });
  else desk.say("Only a proposal that waits can be edited.");
}

const ACTS = {
  j: (desk) => step(desk, 1),
  k: (desk) => step(desk, -1),
  n: () => stepHunk(1),
  p: () => stepHunk(-1),
  a: (desk) => decide(desk, "yes"),
  x: (desk) => decide(desk, "no"),
  e: edit,
  u: (desk) => desk.undoLast(),
  "/": () => document.getElementById("filter")?.focus(),
  "?": (desk) => desk.ask({ kind: "help" }),
};
const MOVES = new Set(["j", "k", "n", "p"]);

export function listenToKeys(desk) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && isTyping(event.target) && !event.target.closest("dialog")) return event.target.blur();
    if (isTyping(event.target) || desk.state.dialog || !desk.state.ready) return;
    const act = Object.hasOwn(ACTS, event.key) ? ACTS[event.key] : null;
    if (!act || (event.repeat && !MOVES.has(event.key))) return;
    event.preventDefault();
    act(desk);
  });
}
