// The page as a whole: its head, its two columns, and what starts it.

import { READ_ONLY } from "./acting.js";
import { Desk } from "./desk.js";
import { Dialogs } from "./dialogs.js";
import { Filters } from "./filters.js";
import { Item } from "./item.js";
import { listenToKeys } from "./keys.js";
import { List } from "./list.js";
import { Many } from "./many.js";
import { guard } from "./pointer.js";
import { views, GlanceView } from "./views.js";
import { html, render, useEffect } from "./vendor/htm-preact-3.1.1.js";
import { count } from "./words.js";

function Head({ desk, state }) {
  const { vaults, vault, online, waiting, permission, route } = state;
  return html`<header class="head">
    <h1><a href=${desk.link()}>Desk</a></h1>
    ${vaults.length > 1
      ? html`<label class="vault"><span class="hidden">Vault</span>
          <select value=${vault} onChange=${(event) => { location.hash = `#/${encodeURIComponent(event.target.value)}`; }}>
            ${vaults.map((name) => html`<option key=${name} value=${name} selected=${name === vault}>
              ${name}${state.waitingBy[name] ? ` (${state.waitingBy[name]})` : ""}</option>`)}
          </select></label>`
      : html`<span class="vault">${vault}</span>`}
    ${state.readOnly && html`<span class="badge" title=${READ_ONLY}>read-only</span>`}
    <nav aria-label="Views">
      <a href=${desk.link()} aria-current=${route.kind === "view" ? null : "page"}>Changes</a>
      ${views.filter((view) => view.isFor?.(state) ?? true).map((view) => html`<a key=${view.name} href=${desk.link(view.name)}
        aria-current=${route.kind === "view" && route.id.split("/")[0] === view.name ? "page" : null}>${view.title}</a>`)}
    </nav>
    ${waiting || state.filters.state === "open" ? html`<button type="button" class="count" data-waits="" aria-pressed=${String(state.filters.state === "open")} title="Show only what waits for you"
      onClick=${() => desk.toggleWaiting()}><span aria-hidden="true">● </span>${count(waiting, "waits", "wait")}</button>` : html`<span class="count">Nothing waits</span>`}
    <span class="tools">
      ${permission === "default" && html`<button type="button" onClick=${() => desk.askToNotify()}>Notify me</button>`}
      <button type="button" aria-keyshortcuts="?" onClick=${() => desk.ask({ kind: "help" })}>Keys <kbd aria-hidden="true">?</kbd></button>
    </span>
    <${Elsewhere} desks=${state.elsewhere} />
    ${!online && html`<p class="lost" role="alert">The connection to the server is lost. What you see may be old, and nothing can be decided. Trying again…</p>`}
  </header>`;
}

// Several servers share vaults: each desk shows those of its server.
function Elsewhere({ desks }) {
  const vaults = Object.entries(desks);
  if (!vaults.length) return null;
  return html`<p class="elsewhere muted">Not here, at other servers: ${vaults.map(([name, address], place) => html`${place ? ", " : ""}${address
    ? html`<a key=${name} href=${address}>${name}</a>`
    : `${name} (no server has it now)`}`)}</p>`;
}

function Overview({ state, desk }) {
  const { waiting, unreviewed, items } = state;
  const first = items.find((item) => !item.is_reviewed && item.state === "made");
  if (!state.listed) return html`<p class="empty">Loading…</p>`;
  if (!items.length) return html`<div class="empty"><h2>Nothing waits.</h2><p>What assistants change appears here.</p></div>`;
  return html`<div class="empty">
    <h2>${waiting ? `${count(waiting, "change")} ${waiting === 1 ? "waits" : "wait"} for you.` : "Nothing waits for you."}</h2>
    <p>${unreviewed ? `You have not looked at ${count(unreviewed, "change")} yet.` : "You have looked at all changes."}</p>
    ${waiting > 0 ? html`<p><button type="button" class="primary" onClick=${() => desk.showWaiting()}>Show what waits</button></p>`
      : first && html`<p><a class="button" href=${desk.link(first.id)}>Show the latest change</a></p>`}
    <p class="muted"><kbd>j</kbd> and <kbd>k</kbd> go through the changes. <kbd>?</kbd> shows all keys.</p>
  </div>`;
}

function Right({ desk, state }) {
  const { route } = state;
  if (route.kind === "item") return html`<${Item} key=${`${state.vault}/${route.id}`} desk=${desk} state=${state} />`;
  if (route.kind === "session" || route.kind === "since") {
    return html`<${Many} key=${`${state.vault}/${route.kind}/${route.id}`} desk=${desk} state=${state} />`;
  }
  return html`<${Overview} desk=${desk} state=${state} />`;
}

function Last({ desk, state }) {
  const last = desk.done.at(-1);
  return html`<div class="said" data-error=${state.isError ? "" : null}>
    <p role="status" aria-live="polite" id="said">${state.said}</p>
    ${last?.what && html`<button type="button" data-decides=${`u ${desk.done.length}`} aria-disabled=${!state.online || state.busy} onClick=${() => desk.undoLast()}
      aria-label=${`Undo my last action: ${last.name}`}>Undo my last action <kbd aria-hidden="true">u</kbd></button>`}
  </div>`;
}

function App({ desk, state }) {
  useEffect(() => {
    const waiting = Object.values(state.waitingBy).reduce((sum, each) => sum + each, 0);
    document.title = `${waiting ? `(${waiting}) ` : ""}Vaultwire desk${state.vault ? ` – ${state.vault}` : ""}`;
  }, [state.waitingBy, state.vault]);
  if (state.failed) return html`<main class="empty"><h1>Vaultwire desk</h1><p role="alert">${state.failed}</p></main>`;
  if (!state.ready) return html`<p class="loading">Opening the desk…</p>`;
  const isView = state.route.kind === "view";
  return html`<div class="page" data-route=${state.route.kind} data-online=${state.online ? "yes" : "no"}>
    <${Head} desk=${desk} state=${state} />
    ${isView ? html`<main class="view" tabindex="-1"><${GlanceView} desk=${desk} state=${state} /></main>` : html`
      <${Filters} desk=${desk} state=${state} />
      <div class="columns">
        <${List} desk=${desk} state=${state} />
        <main id="right" tabindex="-1" aria-label="One change"><${Right} desk=${desk} state=${state} /></main>
      </div>`}
    <${Last} desk=${desk} state=${state} />
    <${Dialogs} desk=${desk} state=${state} />
  </div>`;
}

const root = document.getElementById("desk");
let scheduled = false;
const desk = new Desk(() => {
  if (scheduled) return;
  scheduled = true;
  queueMicrotask(() => {
    scheduled = false;
    render(html`<${App} desk=${desk} state=${desk.state} />`, root);
  });
});
root.replaceChildren();
guard((text) => desk.say(text));
listenToKeys(desk);
desk.begin();
