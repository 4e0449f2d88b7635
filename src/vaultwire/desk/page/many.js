// Many changes at once: those of a session, or all since a time. What would happen is asked for and shown first.

import { Act } from "./acting.js";
import { get, post } from "./api.js";
import { html, useEffect, useState } from "./vendor/htm-preact-3.1.1.js";
import { capital, clientOf, count, nameOf, plain, stateOf, timeOf } from "./words.js";

function startOfToday() {
  const now = new Date();
  const pad = (number) => String(number).padStart(2, "0");
  return `${now.getFullYear()}-${pad(now.getMonth() + 1)}-${pad(now.getDate())}T00:00`;
}

export function Many({ desk, state }) {
  const { route, vault } = state;
  const isSession = route.kind === "session";
  const [since, setSince] = useState(startOfToday());
  const [items, setItems] = useState(null);
  const [plan, setPlan] = useState(null);
  const [fault, setFault] = useState("");
  const moment = Number.isNaN(Date.parse(since)) ? "" : new Date(since).toISOString();
  const which = isSession ? { session: route.id } : { since: moment };
  useEffect(() => {
    if (!isSession && !moment) return undefined;
    const stop = new AbortController();
    setFault("");
    get("items", { vault, ...which, limit: 200 }, stop.signal).then(setItems).catch((error) => { if (error.name !== "AbortError") setFault(error.message); });
    post("decide_many", { vault, ...which, action: "undo", dry_run: true }).then((answer) => setPlan(answer))
      .catch((error) => setPlan({ message: error.message, conflicts: error.details?.conflicts ?? [], possible: error.details?.possible ?? [] }));
    return () => stop.abort();
  }, [route.id, moment, state.items]);
  const words = isSession ? "this session" : "all changes since then";
  const session = items?.sessions?.find((each) => each.id === route.id);
  const first = items?.items?.[0];
  const decide = (action) => () => desk.decideMany({ ...which, action });
  return html`<article class="item many">
    <div class="toolbar" role="toolbar" aria-label=${`Decide ${words}`}><a class="back" href=${desk.link()}>‹ All changes</a><span class="steps"></span>
      <span class="decide"><${Act} desk=${desk} state=${state} words="Keep all" name=${`Keep ${words}`} about=${`many keep ${route.id}`} primary=${true} off=${!items?.total} onAct=${decide("keep")} />
      <${Act} desk=${desk} state=${state} words="Undo all" name=${`Undo ${words}`} about=${`many undo ${route.id}`} off=${!items?.total} writes=${true} onAct=${decide("undo")} /></span></div>
    ${isSession
      ? html`<h2 tabindex="-1" id="item-title">A session of ${first ? clientOf(first) : session?.client ?? "…"}</h2>`
      : html`<h2 tabindex="-1" id="item-title">All changes since</h2><p><label>Since <input type="datetime-local" value=${since} onInput=${(event) => setSince(event.target.value)} /></label></p>`}
    ${fault && html`<p class="notice" role="alert">${fault}</p>`}
    ${items && html`<p>${count(items.total - items.open, "change")}${items.open ? `, and ${count(items.open, "proposal")} of it ${items.open === 1 ? "waits" : "wait"}` : ""}.</p>`}
    ${plan && (plan.conflicts ?? []).length === 0 && html`<p class="muted">If you undo all: ${plan.message}</p>`}
    ${plan && (plan.conflicts ?? []).length > 0 && html`<div class="notice"><p>${count(plan.conflicts.length, "change")} of these cannot be undone now${(plan.possible ?? []).length ? `. The other ${plan.possible.length} can be` : ""}:</p>
      <ul class="conflicts">${plan.conflicts.map((each, index) => html`<li key=${index}>${each.words}</li>`)}</ul></div>`}
    <ul class="plain">${(items?.items ?? []).map((item) => html`<li key=${item.id}><a href=${desk.link(item.id)}>${capital(item.summary || plain(item.label))}</a>
      <span class="muted"> ${timeOf(item.time)} · ${nameOf(item.id)} · ${stateOf(item)[2]}</span></li>`)}</ul>
    ${items?.has_more && html`<p class="muted">The first ${items.items.length} are listed.</p>`}
  </article>`;
}
