// The right column: one change or proposal, with what can be done about it.

import { Act, advance, canEdit } from "./acting.js";
import { FileDiff } from "./diff.js";
import { Editing } from "./edit.js";
import { indexOf } from "./order.js";
import { html, useEffect, useRef } from "./vendor/htm-preact-3.1.1.js";
import { canKeep, capital, clientOf, count, fullTime, nameOf, plain, stateOf, subject, waits } from "./words.js";

function decisions(item) {
  const name = `${nameOf(item.id)}: ${subject(item)}`;
  if (waits(item)) {
    return [
      { words: "Accept", keys: "a", name: `Accept ${name}`, primary: true, writes: true, off: item.state === "stale", act: "yes" },
      { words: "Edit", keys: "e", name: `Edit ${name}`, act: "edit", off: !(item.files ?? []).some(canEdit) },
      { words: "Refuse", keys: "x", name: `Refuse ${name}`, act: "no" },
    ];
  }
  const isKept = item.is_reviewed && item.state === "made";
  return [
    { words: isKept ? "Kept" : "Keep", keys: "a", name: `${isKept ? "Kept" : "Keep"} ${name}`, primary: !isKept, off: !canKeep(item), act: "yes" },
    { words: item.state === "undone" ? "Undone" : "Undo", keys: "x", name: `${item.state === "undone" ? "Undone" : "Undo"} ${name}`, act: "no", writes: true,
      off: ["undone", "refused", "withdrawn"].includes(item.state) || Boolean(item.way_back) || (item.can_undo === false && !item.blocked_by?.length) },
  ];
}

function Toolbar({ desk, state, item }) {
  const at = indexOf(state.items, item.id);
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
      about=${`${item.id} ${each.act}`} off=${each.off} writes=${each.writes} primary=${each.primary} onAct=${run(each.act)} />`)}</span>
  </div>`;
}

function Head({ desk, item }) {
  const [state, sign, words] = stateOf(item);
  const who = clientOf(item);
  const added = item.files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = item.files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  const verb = waits(item) || item.id.startsWith("p") ? "asked for this" : "made this";
  return html`<div class="item-head">
    <h2 tabindex="-1" id="item-title">${capital(item.summary || plain(item.label))}</h2>
    <p><span class="state" data-state=${state}><span aria-hidden="true">${sign} </span>${words}</span>
      <span class="muted"> · ${capital(nameOf(item.id))}. ${who} ${verb}${item.tool ? html` with <code>${item.tool}</code>` : ""}
      , <time datetime=${item.time}>${fullTime(item.time)}</time>.
      ${item.session && html` <a href=${desk.link("session", item.session)}>The whole session</a>.`}
      ${(item.undoes ?? []).length > 0 && html` It undoes ${item.undoes.map((id) => link(desk, id))}.`}
      ${item.undone_by && html` Undone by ${link(desk, item.undone_by)}.`}
      ${item.change && item.id.startsWith("p") && html` Written as ${link(desk, item.change)}.`}</span></p>
    ${item.reason && html`<p>Your reason: <q>${item.reason}</q></p>`}
    ${item.way_back && html`<p class="notice">Something that it changed was changed again, so it cannot be undone as it was. You can move the note back: all links follow, and what was written since stays.
      <button type="button" data-decides=${`${item.id} back`} onClick=${() => desk.decide({ id: item.id, action: "move_back" })}>Move it back to ${plain(item.way_back)}</button></p>`}
    ${item.conflict && !item.way_back && html`<p class="notice">${(item.blocked_by ?? []).length
      ? html`${item.blocked_by.length === 1 ? "A later change builds" : "Later changes build"} on this one: ${item.blocked_by.map((id) => link(desk, id))}. “Undo” offers to undo them together.`
      : item.conflict.replace(/ Nothing was changed\.$/, "")}</p>`}
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

// Nothing but links to what has moved was changed in this file.
function isFollowing(file) {
  return file.action === "edit" && file.links.length > 0 && file.added === file.removed && file.added <= file.links.length && file.links.every((link) => link.follows);
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
  const show = (file) => html`<${FileDiff} key=${file.index} desk=${desk} state=${state} item=${detail} file=${file} isOnly=${detail.files.length === 1} />`;
  const followed = detail.files.filter(isFollowing);
  return html`<article class="item" ref=${top} aria-labelledby="item-title">
    <${Toolbar} desk=${desk} state=${state} item=${detail} />
    <${Head} desk=${desk} item=${detail} />
    ${isChanged && html`<p class="notice">This change is not as it was when you opened it. <button type="button" onClick=${() => desk.showLatest()}>Show it as it is now</button></p>`}
    ${detail.is_merged && detail.state === "waiting" && html`<p class="notice">This was not made from the text as it is now: that was changed since, or an earlier proposal waits. You see what accepting does to the text as it is now; what was changed since stays.</p>`}
    ${hasText && html`<${ViewSwitch} desk=${desk} state=${state} />`}
    ${detail.files.length > 2 && html`<${Files} files=${detail.files} />`}
    ${detail.state === "stale" && html`<h3 class="side-title">What it wants, from the note as it was</h3>`}
    ${detail.files.filter((file) => !followed.includes(file)).map(show)}
    ${followed.length > 0 && html`<details class="followed"><summary>${count(followed.length, "note")} whose links follow the move</summary>${followed.map(show)}</details>`}
    ${detail.state === "stale" && html`<${Stale} desk=${desk} state=${state} item=${detail} />`}
  </article>`;
}

// A list of the files to jump in.
function Files({ files }) {
  const jump = (index) => () => {
    const place = document.querySelector(`[data-file="${index}"]`);
    place?.closest("details")?.setAttribute("open", "");
    place?.scrollIntoView({ block: "start" });
    place?.focus({ preventScroll: true });
  };
  return html`<details class="jump" open=${files.length <= 12}><summary>${count(files.length, "file")}</summary>
    <ul>${files.map((file) => html`<li key=${file.index}><button type="button" class="quiet" onClick=${jump(file.index)}>${plain(file.to ?? file.path)}</button>
      <span class="lines">${file.added > 0 && html`<span class="plus">+${file.added}</span> `}${file.removed > 0 && html`<span class="minus">−${file.removed}</span>`}</span></li>`)}</ul></details>`;
}

// The other side of a stale proposal: what has changed since it was made.
function Stale({ desk, state, item }) {
  const changed = item.files.filter((file) => file.now);
  return html`<section class="stale">
    ${changed.length > 0 && html`<h3 class="side-title">What has changed in the note since</h3>
      ${changed.map((file) => html`<${FileDiff} key=${`now ${file.index}`} desk=${desk} state=${state} item=${item} file=${{ ...file.now, index: file.index }} isOnly=${true} isSince=${true} />`)}`}
    <p class="notice">It cannot be accepted as it is, because it would write over what has changed since. ${item.files.some(canEdit)
      ? html`<button type="button" onClick=${() => desk.set({ editing: { id: item.id } })}>Edit a text with both</button> or refuse it with a reason.` : "Refuse it with a reason, and ask for it again."}</p>
  </section>`;
}
