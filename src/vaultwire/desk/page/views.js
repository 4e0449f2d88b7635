// The views of the vault at a glance: their names, and their code once one is opened.

import { get, post } from "./api.js";
import { html, useEffect, useState } from "./vendor/htm-preact-3.1.1.js";

export const views = [
  { name: "search", title: "Search" }, { name: "graph", title: "Graph" }, { name: "activity", title: "Activity" }, { name: "bases", title: "Bases" },
  { name: "problems", title: "Problems" }, { name: "access", title: "Access", isFor: (state) => state.hasGrants },
];
const NAMES = new Set([...views.map((view) => view.name), "base", "note"]);

export function isView(name) {
  return NAMES.has(name);
}

function go(address) {
  location.hash = address.replace(/^#/, "");
}

export async function loadTree() {
  return (await import("./glance/tree.js")).renderTree;
}

export function GlanceView({ state }) {
  const [name, ...rest] = state.route.id.split("/");
  const [views, setViews] = useState(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    import("./glance/index.js").then((glance) => setViews(glance.views)).catch((error) => setFault(`This view cannot be loaded: ${error.message}`));
  }, []);
  const found = views?.find((view) => view.name === name);
  if (!found) return html`<p class="empty">${fault || "Loading…"}</p>`;
  const path = rest.join("/");
  return html`<${found.View} key=${`${state.vault}/${name}/${found.keyOf?.(path) ?? path}`} api=${get} send=${post} vault=${state.vault} go=${go} rest=${path} />`;
}
