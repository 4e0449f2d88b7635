// One file of a change: what differs, in words and in lines. It shows a FileDiff and asks for the pieces that it lacks.

import { Act, advance } from "./acting.js";
import { address, get } from "./api.js";
import { Rows } from "./rows.js";
import { html, useCallback, useEffect, useRef, useState } from "./vendor/htm-preact-3.1.1.js";
import { loadTree } from "./views.js";
import { baseName, capital, count, nameOf, plain, waits } from "./words.js";

const VERBS = { create: "New", edit: "Edited", remove: "Removed", move: "Moved" };

function Path({ path }) {
  const at = path.lastIndexOf("/") + 1;
  return html`<span class="path"><span class="folder">${plain(path.slice(0, at))}</span>${plain(path.slice(at))}</span>`;
}

// `isFixed`: the file asks for no more and decides nothing. `isSince`: it is what has changed since a proposal was made.
export function FileDiff({ desk, state, item, file, isOnly, isSince = false, isFixed = isSince }) {
  return html`<section class="file" tabindex="-1" data-file=${isSince ? null : file.index} aria-label=${`${isSince ? "Changed since: " : ""}${plain(file.to ?? file.path)}`}>
    <${FileHead} desk=${desk} state=${state} item=${item} file=${file} isOnly=${isOnly || isFixed} />
    <${Facts} file=${file} />
    <${Body} desk=${desk} state=${state} item=${item} file=${file} isFixed=${isFixed} />
  </section>`;
}

// Links follow a move, and an undo is one change: such a proposal is accepted as a whole.
export function canAcceptParts(item) {
  return waits(item) && item.kind === "held" && !item.undoes.length && !(item.files.some((file) => file.action === "move") && item.files.some((file) => file.action !== "move"));
}

function FileHead({ desk, state, item, file, isOnly }) {
  const name = `${baseName(file.to ?? file.path)} in ${nameOf(item.id)}`;
  const states = new Set((file.hunks ?? []).map((hunk) => hunk.state));
  const only = states.size === 1 && !file.next_hunk ? [...states][0] : "";
  const part = { file: file.index };
  const open = !waits(item) && ["made", "undone in part"].includes(item.state);
  return html`<header>
    <h3><span class="verb">${VERBS[file.action] ?? file.action}</span> <${Path} path=${file.path} />${file.to && html`<span class="to"> → <${Path} path=${file.to} /></span>`}
      ${file.is_new && html` <span class="badge">new ${file.kind === "note" ? "note" : "file"}</span>`}
      ${(file.added > 0 || file.removed > 0) && html` <span class="lines"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span>`}</h3>
    ${!isOnly && open && html`<span class="decide">
      <${Act} desk=${desk} state=${state} words=${only === "kept" ? "Kept" : "Keep"} name=${`Keep ${name}`} about=${`${item.id} yes ${file.index}`} off=${only === "kept" || only === "undone" || item.is_reviewed}
        onAct=${() => desk.yes(item, part)} />
      <${Act} desk=${desk} state=${state} words=${only === "undone" ? "Undone" : "Undo"} name=${`Undo ${name}`} about=${`${item.id} no ${file.index}`} off=${only === "undone"} writes=${true}
        onAct=${() => desk.no(item, part)} /></span>`}
    ${!isOnly && canAcceptParts(item) && html`<span class="decide">
      <${Act} desk=${desk} state=${state} words="Accept this file" name=${`Accept ${name}`} about=${`${item.id} yes ${file.index}`} off=${Boolean(file.now)} writes=${true} onAct=${() => desk.yes(item, part)} /></span>`}
  </header>`;
}

function Value({ value }) {
  return value ? html`<span class="value">${value.text}</span> <small class="muted">${value.type}</small>` : html`<span class="muted">not set</span>`;
}

// What can be said in words: the links of a move, properties, links, canvas cards, hidden characters.
function Facts({ file }) {
  return html`<div class="facts">
    ${file.rewritten_links > 0 && html`<p>${count(file.rewritten_links, "link")} in other notes ${file.rewritten_links === 1 ? "was" : "were"} rewritten.</p>`}
    ${(file.lost_links ?? []).length > 0 && html`<details class="notice"><summary>${count(file.lost_links.length, "link")} will lead nowhere</summary>
      <ul>${file.lost_links.map((link, index) => html`<li key=${index}>${plain(link.path)}, line ${link.line}</li>`)}</ul></details>`}
    ${(file.notices ?? []).length > 0 && html`<ul class="notice" aria-label="Hard to see">${file.notices.map((notice, index) => html`<li key=${index}><span aria-hidden="true">⚠ </span>${capital(notice.words)}</li>`)}</ul>`}
    ${(file.properties ?? []).length > 0 && html`<table class="properties"><caption>Properties</caption>
      <thead><tr><th scope="col">Name</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
      <tbody>${file.properties.map((each) => html`<tr key=${each.name}><th scope="row">${each.name}</th>
        <td data-kind=${each.old ? "removed" : null}><${Value} value=${each.old} /></td><td data-kind=${each.new ? "added" : null}><${Value} value=${each.new} /></td></tr>`)}</tbody></table>`}
    ${(file.links ?? []).length > 0 && html`<ul class="links" aria-label="Links">${file.links.map((link, index) => html`<li key=${index}>
      ${link.line ? html`<span class="muted">Line ${link.line}: </span>` : ""}${link.text && html`<code>${link.text}</code> `}${link.words}</li>`)}</ul>`}
    ${(file.nodes ?? []).length > 0 && html`<ul class="nodes" aria-label="Canvas">${file.nodes.map((node, index) => html`<li key=${index}>${node.words}</li>`)}</ul>`}
  </div>`;
}

function Body({ desk, state, item, file, isFixed }) {
  if (file.kind === "image") return html`<${Images} state=${state} item=${item} file=${file} />`;
  if (file.kind === "binary") return html`<p class="muted">This file is not a text, so its lines cannot be shown.</p>`;
  if (state.view === "rendered" && !isFixed && file.kind === "note") return html`<${Rendered} state=${state} item=${item} file=${file} />`;
  if (!file.hunks.length) return file.action === "move" ? null : html`<p class="muted">No line differs.</p>`;
  const hunks = html`<${Hunks} desk=${desk} state=${state} item=${item} file=${file} isFixed=${isFixed} />`;
  return file.kind === "canvas" && file.nodes.length ? html`<details><summary>The text of the file</summary>${hunks}</details>` : hunks;
}

function Images({ state, item, file }) {
  const side = (name, words) => html`<figure><img alt=${`${words}: ${baseName(file.path)}`} loading="lazy" src=${address("file", { vault: state.vault, id: item.id, file: file.index, side: name })} /><figcaption>${words}</figcaption></figure>`;
  const hasOld = file.action !== "create";
  const hasNew = file.action !== "remove";
  return html`<div class="images">${hasOld && side("old", file.action === "move" ? "The picture" : "Before")}${hasNew && file.action !== "move" && side("new", "After")}</div>`;
}

function Rendered({ state, item, file }) {
  const [sides, setSides] = useState(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    const ask = (side) => get("rendered", { vault: state.vault, id: item.id, file: file.index, side }).then((answer) => answer.tree);
    const both = state.layout === "split" && file.action === "edit";
    Promise.all([both || file.action === "remove" ? ask("old") : null, file.action === "remove" ? null : ask("new"), loadTree()])
      .then(([old, fresh, draw]) => setSides({ old, fresh, draw })).catch((error) => setFault(error.message));
  }, [item.id, file.index, state.layout]);
  if (!sides) return html`<p class="empty">${fault || "Loading…"}</p>`;
  const one = (tree, words) => tree && html`<div class="rendered" data-side=${words}><h4>${words}</h4>${sides.draw(tree)}</div>`;
  return html`<div class="sides">${one(sides.old, "Before")}${one(sides.fresh, "After")}</div>`;
}

// The hunks, a page at a time: the next is asked for when its place comes near the screen.
function Hunks({ desk, state, item, file, isFixed }) {
  const [later, setLater] = useState([]); // pages that came after the first
  const [next, setNext] = useState(file.next_hunk);
  const [fault, setFault] = useState("");
  const end = useRef(null);
  useEffect(() => { setLater([]); setNext(file.next_hunk); }, [file]);
  const more = useCallback(async () => {
    try {
      const answer = await get("hunks", { vault: state.vault, id: item.id, file: file.index, from: next });
      const found = answer.file ?? answer;
      setLater((shown) => [...shown, ...found.hunks]);
      setNext(found.next_hunk);
    } catch (error) {
      setFault(error.message);
    }
  }, [next, item.id, file]);
  useEffect(() => {
    if (next === null || next === undefined || isFixed || !end.current) return undefined;
    const seen = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) { seen.disconnect(); more(); } }, { rootMargin: "1500px" });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [next, more]);
  const hunks = [...file.hunks, ...later];
  const layout = state.layout === "split" && matchMedia("(min-width: 701px)").matches ? "split" : "unified";
  let shownTo = 0; // the last new line above, for the folded lines between
  return html`<div class=${`hunks ${file.kind}`}>
    ${hunks.map((hunk, at) => {
      const rows = hunk.rows.filter((row) => !(row.kind === "same" && row.new <= shownTo));
      const numbers = rows.map((row) => row.new).filter(Boolean);
      const from = shownTo + 1;
      const to = (numbers[0] ?? hunk.new_start) - 1;
      const gap = !hunk.is_continued && file.action === "edit" && !isFixed && to >= from ? { from, to } : null;
      shownTo = Math.max(shownTo, ...numbers.slice(-1));
      return html`<${Hunk} key=${`${hunk.index} ${at}`} desk=${desk} state=${state} item=${item} file=${file} hunk=${hunk} rows=${rows} gap=${gap} layout=${layout} isFixed=${isFixed} />`;
    })}
    ${next !== null && next !== undefined && !isFixed && html`<p class="more" ref=${end}>${fault || "Loading more…"} <button type="button" onClick=${more}>Load more</button></p>`}
    ${next !== null && next !== undefined && isFixed && html`<p class="muted">More changes follow.</p>`}
  </div>`;
}

const HUNK_STATES = { kept: "✓ Kept", undone: "↶ Undone" };

function Hunk({ desk, state, item, file, hunk, rows, gap, layout, isFixed }) {
  const name = `hunk ${hunk.index + 1} of ${baseName(file.to ?? file.path)} in ${nameOf(item.id)}`;
  const part = { file: file.index, hunk: hunk.index };
  const canDecide = !isFixed && (!waits(item) || (canAcceptParts(item) && !file.now)) && file.hunk_count > 1 && !hunk.is_continued;
  const run = (kind) => (event) => advanceHunk(desk, item, part, kind, event);
  const isDone = hunk.state === "kept" || hunk.state === "undone";
  return html`${gap && html`<${Fold} state=${state} item=${item} file=${file} gap=${gap} layout=${layout} />`}
    <div class="hunk" data-state=${hunk.state} data-hunk=${`${file.index} ${hunk.index}`} tabindex="-1" role="group" aria-label=${`${name}${isDone ? `, ${hunk.state}` : ""}`}>
      ${canDecide && html`<div class="hunk-head"><span class="muted">Hunk ${hunk.index + 1} of ${file.hunk_count}</span>
        <span class="state">${HUNK_STATES[hunk.state] ?? ""}</span>
        <span class="decide">${waits(item)
          ? html`<${Act} desk=${desk} state=${state} words="Accept this" name=${`Accept ${name}`} about=${`${item.id} yes ${file.index} ${hunk.index}`} writes=${true} onAct=${() => desk.yes(item, part)} />`
          : html`<${Act} desk=${desk} state=${state} words="Keep" name=${`Keep ${name}`} about=${`${item.id} yes ${file.index} ${hunk.index}`} off=${isDone || item.is_reviewed} onAct=${run("yes")} />
        <${Act} desk=${desk} state=${state} words="Undo" name=${`Undo ${name}`} about=${`${item.id} no ${file.index} ${hunk.index}`} off=${hunk.state === "undone" || item.state === "undone"} writes=${true} onAct=${run("no")} />`}</span></div>`}
      <${Rows} rows=${rows} layout=${layout} /></div>`;
}

// By key the focus goes to the next hunk that is open, and after the last to the next change.
export async function advanceHunk(desk, item, part, kind, event) {
  if (event && event.detail !== 0) return desk[kind](item, part);
  const all = [...document.querySelectorAll("[data-hunk]")];
  const at = all.findIndex((each) => each.dataset.hunk === `${part.file} ${part.hunk}`);
  const next = all.slice(at + 1).find((each) => each.dataset.state === "made" && each.checkVisibility());
  if (!next) return advance(desk, item, event, () => desk[kind](item, part));
  const done = await desk[kind](item, part);
  if (done) next.focus();
  return done;
}

// Unchanged lines, folded. They unfold in place.
function Fold({ state, item, file, gap, layout }) {
  const [rows, setRows] = useState(null);
  const [fault, setFault] = useState("");
  const unfold = async () => {
    try {
      const answer = await get("lines", { vault: state.vault, id: item.id, file: file.index, from: gap.from, to: gap.to });
      setRows((answer.lines ?? answer.rows).map((line, index) => (line.parts ? line : { kind: "same", old: null, new: gap.from + index, parts: [{ t: line.text ?? line, op: "=" }] })));
    } catch (error) {
      setFault(error.message);
    }
  };
  if (rows) return html`<div class="unfolded" tabindex="-1" ref=${(element) => element?.focus({ preventScroll: true })}><${Rows} rows=${rows} layout=${layout} /></div>`;
  return html`<button type="button" class="fold" onClick=${unfold}>${fault || `⋯ ${count(gap.to - gap.from + 1, "unchanged line")}`}<span class="hidden"> of ${baseName(file.path)} from line ${gap.from}: show</span></button>`;
}
