// The row of filters above the list.

import { html } from "./vendor/htm-preact-3.1.1.js";
import { count } from "./words.js";

const KINDS = [["", "All kinds"], ["change", "Changes"], ["held", "Held writes"], ["diff", "Diffs of editors"]];
const STATES = [
  ["", "All states"], ["open", "Waits for you"], ["waiting", "Can be accepted"], ["stale", "Stale"], ["made", "Made"], ["undone", "Undone"],
  ["undone in part", "Undone in part"], ["accepted", "Accepted"], ["accepted as edited", "Accepted as edited"],
  ["refused", "Refused"], ["withdrawn", "Withdrawn"],
];

function Choice({ label, value, options, onChange }) {
  return html`<label data-set=${value ? "" : null}><span class="hidden">${label}</span>
    <select value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === value}>${words}</option>`)}
    </select></label>`;
}

function folders(items) {
  const found = new Set();
  for (const item of items) {
    for (const file of item.files ?? []) if (file.path.includes("/")) found.add(file.path.slice(0, file.path.lastIndexOf("/")));
  }
  return [...found].sort();
}

export function Filters({ desk, state }) {
  const { filters, clients, items, total } = state;
  const set = (name) => (value) => desk.filter({ [name]: value });
  const isSet = Object.values(filters).some(Boolean);
  const named = [["", "All clients"], ...clients.map((each) => [each.name, `${each.name} (${each.count})`])];
  if (filters.client && !clients.some((each) => each.name === filters.client)) named.push([filters.client, filters.client]);
  return html`<form class="filters" role="search" aria-label="Filter the changes" onSubmit=${(event) => event.preventDefault()}>
    <label class="text"><span class="hidden">Text in paths, names and labels</span>
      <input id="filter" type="search" placeholder="Filter  ( / )" aria-keyshortcuts="/" value=${filters.text} autocomplete="off" spellcheck="false"
        onInput=${(event) => set("text")(event.target.value)} /></label>
    <${Choice} label="Client" value=${filters.client} options=${named} onChange=${set("client")} />
    <label class="folder" data-set=${filters.folder ? "" : null}><span class="hidden">Folder</span>
      <input type="text" list="folders" placeholder="All folders" value=${filters.folder} autocomplete="off" spellcheck="false"
        onInput=${(event) => set("folder")(event.target.value)} /></label>
    <datalist id="folders">${folders(items).map((folder) => html`<option key=${folder} value=${folder} />`)}</datalist>
    <${Choice} label="Kind" value=${filters.kind} options=${KINDS} onChange=${set("kind")} />
    <${Choice} label="State" value=${filters.state} options=${STATES} onChange=${set("state")} />
    <span class="found">${isSet ? `${count(total, "change")} found` : ""}</span>
    <button type="button" class="quiet" aria-disabled=${!isSet} onClick=${() => desk.clearFilters()}>Clear</button>
    <a class="button quiet" href=${desk.link("since")}>All since…</a>
  </form>`;
}
