// The right column: one change or proposal, with what can be done about it.

import { Act, advance, isText } from "./acting.js";
import { FileDiff } from "./diff.js";
import { Editing } from "./edit.js";
import { html, useEffect, useRef } from "./vendor/htm-preact-3.1.1.js";
import { canKeep, capital, clientOf, count, fullTime, nameOf, stateOf, subject, waits } from "./words.js";

function decisions(item) {
  const name = `${nameOf(item.id)}: ${subject(item)}`;
  if (waits(item)) {
    return [
      { words: "Accept", keys: "a", name: `Accept ${name}`, primary: true, off: item.state === "stale", act: "yes" },
      { words: "Edit", keys: "e", name: `Edit ${name}`, act: "edit", off: item.state === "stale" || !(item.files ?? []).some(isText) },
      { words: "Refuse", keys: "x", name: `Refuse ${name}`, act: "no" },
    ];
  }
  const isKept = item.is_reviewed && item.state === "made";
  return [
    { words: isKept ? "Kept" : "Keep", keys: "a", name: `${isKept ? "Kept" : "Keep"} ${name}`, primary: !isKept, off: !canKeep(item), act: "yes" },
    { words: item.state === "undone" ? "Undone" : "Undo", keys: "x", name: `${item.state === "undone" ? "Undone" : "Undo"} ${name}`, act: "no",
      off: ["undone", "refused", "withdrawn"].includes(item.state) || (item.can_undo === false && !item.blocked_by?.length) },
  ];
}

function Toolbar({ desk, state, item }) {
  const at = state.items.findIndex((each) => each.id === item.id);
  const act = { yes: () => desk.yes(item), no: () => desk.no(item), edit: () => desk.set({ editing: { id: item.id } }) };
  const run = (kind) => (event) => {
    if (kind === "edit" || (kind === "no" && waits(item))) return act[kind]();
    return advance(desk, item, event, act[kind]);
  };
  return html`<div class="toolbar" role="toolbar" aria-label=${`Decide ${nameOf(item.id)}`}>
    <a class="back" href=${desk.link()}>‹ All changes</a>
    <span class="steps">
      <button type="button" aria-label="Next in the list" aria-keyshortcuts="j" aria-disabled=${at < 0 || at >= state.items.length - 1} onClick=${() => desk.step(1)}>↓</button>
      <button type="button" aria-label="Previous in the list" aria-keyshortcuts="k" aria-disabled=${at <= 0} onClick=${() => desk.step(-1)}>↑</button>
    </span>
    <span class="decide">${decisions(item).map((each) => html`<${Act} key=${each.act} desk=${desk} state=${state} words=${each.words} name=${each.name} keys=${each.keys}
      about=${`${item.id} ${each.act}`} off=${each.off} primary=${each.primary} onAct=${run(each.act)} />`)}</span>
  </div>`;
}

function Head({ desk, item }) {
  const [state, sign, words] = stateOf(item);
  const who = clientOf(item);
  const added = item.files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = item.files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  const verb = waits(item) || item.id.startsWith("p") ? "asked for this" : "made this";
  return html`<div class="item-head">
    <h2 tabindex="-1" id="item-title">${capital(item.summary || item.label)}</h2>
    <p><span class="state" data-state=${state}><span aria-hidden="true">${sign} </span>${words}</span>
      <span class="muted"> · ${capital(nameOf(item.id))}. ${who} ${verb}${item.tool ? html` with <code>${item.tool}</code>` : ""}
      , <time datetime=${item.time}>${fullTime(item.time)}</time>.
      ${item.session && html` <a href=${desk.link("session", item.session)}>The whole session</a>.`}
      ${(item.undoes ?? []).length > 0 && html` It undoes ${item.undoes.map((id) => link(desk, id))}.`}
      ${item.undone_by && html` Undone by ${link(desk, item.undone_by)}.`}
      ${item.change && item.id.startsWith("p") && html` Written as ${link(desk, item.change)}.`}</span></p>
    ${item.reason && html`<p>Your reason: <q>${item.reason}</q></p>`}
    ${item.conflict && html`<p class="notice">${item.conflict}</p>`}
    ${(item.blocked_by ?? []).length > 0 && html`<p class="notice">Later changes build on this one: ${item.blocked_by.map((id) => link(desk, id))}. An undo has to begin with them.</p>`}
    <p class="counts"><span>${count(item.files.length, "file")}</span> <span class="plus">+${added}</span> <span class="minus">−${removed}</span> <span class="muted">lines</span></p>
  </div>`;
}

function link(desk, id) {
  const name = typeof id === "number" ? `c${id}` : id;
  return html`<a key=${name} class="ref" href=${desk.link(name)}>${nameOf(name)}</a>`;
}

function ViewSwitch({ desk, state }) {
  const choose = (label, current, options, set) => html`<span class="switch" role="group" aria-label=${label}>
    ${options.map(([value, words]) => html`<button key=${value} type="button" aria-pressed=${String(current === value)} onClick=${() => set(value)}>${words}</button>`)}</span>`;
  return html`<div class="views">
    ${choose("Layout", state.layout, [["unified", "Unified"], ["split", "Side by side"]], (layout) => desk.setLayout(layout))}
    ${choose("Text", state.view, [["source", "Source"], ["rendered", "Rendered"]], (view) => desk.set({ view }))}
  </div>`;
}

export function Item({ desk, state }) {
  const { detail, detailError, isChanged, editing } = state;
  const top = useRef(null);
  const id = detail?.id;
  useEffect(() => {
    document.getElementById("right")?.scrollTo({ top: 0 });
    // The focus was on what is no longer there, or the list is not on the screen.
    if (id && (document.activeElement === document.body || !document.getElementById("list")?.checkVisibility())) document.getElementById("item-title")?.focus({ preventScroll: true });
  }, [id]);
  if (detailError) return html`<div class="empty" role="alert"><p>${detailError}</p><p><a href=${desk.link()}>All changes</a></p></div>`;
  if (!detail) return html`<p class="empty">Loading…</p>`;
  if (editing?.id === detail.id) return html`<${Editing} desk=${desk} state=${state} item=${detail} />`;
  const hasText = detail.files.some((file) => ["note", "canvas", "text"].includes(file.kind));
  return html`<article class="item" ref=${top} aria-labelledby="item-title">
    <${Toolbar} desk=${desk} state=${state} item=${detail} />
    <${Head} desk=${desk} item=${detail} />
    ${isChanged && html`<p class="notice">This change is not as it was when you opened it. <button type="button" onClick=${() => desk.showLatest()}>Show it as it is now</button></p>`}
    ${hasText && html`<${ViewSwitch} desk=${desk} state=${state} />`}
    ${detail.state === "stale" && html`<h3 class="side-title">What it wants, from the note as it was</h3>`}
    ${detail.files.map((file) => html`<${FileDiff} key=${file.index} desk=${desk} state=${state} item=${detail} file=${file} isOnly=${detail.files.length === 1} />`)}
    ${detail.state === "stale" && html`<${Stale} desk=${desk} state=${state} item=${detail} />`}
  </article>`;
}

// The other side of a stale proposal: what has changed since, and what writing its text would do to the note as it is now.
function Stale({ desk, state, item }) {
  const changed = item.files.filter((file) => file.now);
  return html`<section class="stale">
    ${changed.length > 0 && html`<h3 class="side-title">What has changed in the note since</h3>
      ${changed.map((file) => html`<${FileDiff} key=${`now ${file.index}`} desk=${desk} state=${state} item=${item} file=${{ ...file.now, index: file.index }} isOnly=${true} isFixed=${true} />`)}`}
    <h3 class="side-title">What its text would do to the note as it is now</h3>
    <p class="muted">This cannot be accepted. Refuse it with that reason, or change the note yourself.</p>
    ${item.files.filter(isText).map((file) => html`<${FileDiff} key=${file.index} desk=${desk} state=${state} item=${item} file=${file} isOnly=${true} isNow=${true} />`)}
  </section>`;
}
