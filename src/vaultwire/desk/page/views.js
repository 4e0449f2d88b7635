// The views of the vault at a glance, loaded when one is opened.

import { html, useEffect, useState } from "./vendor/htm-preact-3.1.1.js";

export const views = [];

export function GlanceView({ desk, state }) {
  const name = state.route.id.split("/")[0];
  const view = views.find((each) => each.name === name);
  const [shown, setShown] = useState(null);
  useEffect(() => {
    setShown(null);
    view?.load().then((View) => setShown(() => View));
  }, [name]);
  if (!view) return html`<p class="empty">There is no such view.</p>`;
  return shown ? html`<${shown} desk=${desk} vault=${state.vault} rest=${state.route.id.split("/").slice(1).join("/")} />` : html`<p class="empty">Loading…</p>`;
}
