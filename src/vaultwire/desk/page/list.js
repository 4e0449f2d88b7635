// The left column: changes by day, then by session and client. News never move what the person points at.

import { grouped } from "./order.js";
import { html } from "./vendor/htm-preact-3.1.1.js";
import { capital, clientOf, count, dayKey, dayName, fullTime, nameOf, plain, stateOf, timeOf, waits } from "./words.js";

// Changes that did the same one after the other: one row, which opens.
function Same({ desk, item, current }) {
  if (!item.same?.length) return null;
  return html`<li class="row-same"><details open=${item.same.some(([id]) => id === current) ? true : null}><summary>${item.same.length.toLocaleString()} more before it</summary>
    <ul>${item.same.map(([id, at]) => html`<li key=${id}><a href=${desk.link(id)} data-id=${id} aria-current=${id === current ? "true" : null}>${capital(nameOf(id))}, <time datetime=${at}>${timeOf(at)}</time></a></li>`)}</ul></details></li>`;
}

function sizeOf(items) {
  return items.reduce((sum, item) => sum + 1 + (item.same?.length ?? 0), 0);
}

// "3 changes · 2 wait". The last group of a list that is cut may have more.
function counted(items, isCut) {
  const waiting = items.filter(waits).length;
  const made = sizeOf(items) - waiting;
  const words = isCut ? `${made.toLocaleString()}+ changes` : count(made, "change");
  return [made || !waiting ? words : "", waiting ? count(waiting, "waits", "wait") : ""].filter(Boolean).join(" · ");
}

function Row({ desk, item, isCurrent }) {
  const [state, sign, words] = stateOf(item);
  const more = (item.undoes ?? []).length ? ` · undoes ${item.undoes.join(", ")}` : "";
  return html`<li class="row-item" data-state=${state}>
    <a href=${desk.link(item.id)} data-id=${item.id} aria-current=${isCurrent ? "true" : null}>
      <span class="what">${capital(item.summary || plain(item.label))}${item.same?.length ? ` ${count(1 + item.same.length, "time")}` : ""}</span>
      <span class="about"><time datetime=${item.time} title=${fullTime(item.time)}>${timeOf(item.time)}</time>
        <span class="tool">${item.tool || (item.kind === "diff" ? "diff" : "")}${more}</span>
        <span class="state" data-state=${state}><span aria-hidden="true">${sign} </span>${words.split(":")[0]}</span></span>
    </a></li>`;
}

function Group({ desk, group, current, isCut }) {
  const first = group.items.at(-1);
  const last = group.items[0];
  const span = timeOf(first.time) === timeOf(last.time) ? timeOf(last.time) : `${timeOf(first.time)} – ${timeOf(last.time)}`;
  const inside = html`<strong>${clientOf(last)}</strong> <span class="muted">${span} · ${counted(group.items, isCut)}</span>`;
  return html`<li class="group">
    ${group.session
      ? html`<a class="session" href=${desk.link("session", group.session)} aria-current=${current === `session ${group.session}` ? "true" : null}>${inside}<span class="hidden"> – show the whole session</span></a>`
      : html`<span class="session">${inside}</span>`}
    <ul>${group.items.map((item) => html`<${Row} key=${item.id} desk=${desk} item=${item} isCurrent=${current === item.id} /><${Same} key=${`${item.id} same`} desk=${desk} item=${item} current=${current} />`)}</ul>
  </li>`;
}

export function List({ desk, state }) {
  const { items, fresh, hasMore, listed, route, filters } = state;
  const days = grouped(items, dayKey);
  const current = route.kind === "session" ? `session ${route.id}` : route.id;
  const isSet = Object.values(filters).some(Boolean);
  return html`<nav id="list" aria-label="Changes" data-held=${fresh ? "" : null}>
    <div role="status" class="fresh-place">${fresh && html`<button type="button" class="fresh" onClick=${() => desk.showFresh()}>↑ Show ${count(fresh.added, "new change")}</button>`}</div>
    ${!listed && html`<p class="empty">Loading…</p>`}
    ${listed && !items.length && (isSet
      ? html`<div class="empty"><p>No change matches the filters.</p><button type="button" onClick=${() => desk.clearFilters()}>Clear the filters</button></div>`
      : html`<div class="empty only-narrow"><p>Nothing waits. What assistants change appears here.</p></div>`)}
    ${days.map((day) => html`<section key=${day.key}>
      <h2>${dayName(day.time)} <span class="muted">${counted(day.groups.flatMap((group) => group.items), hasMore && day === days.at(-1))}</span></h2>
      <ul>${day.groups.map((group) => html`<${Group} key=${group.key} desk=${desk} group=${group} current=${current} isCut=${hasMore && day === days.at(-1)} />`)}</ul>
    </section>`)}
    ${hasMore && html`<p class="more"><button type="button" onClick=${() => desk.more()}>Show earlier changes</button></p>`}
  </nav>`;
}

// Show the row of the item and put the focus on it.
export function focusRow(id) {
  const row = document.querySelector(`#list a[data-id="${CSS.escape(id)}"]`);
  if (!row?.checkVisibility()) return false;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
  return true;
}
