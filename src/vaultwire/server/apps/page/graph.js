// The graph of notes, as the desk draws it.

import { Graph } from "../../../desk/page/glance/graph.js";
import { html } from "../../../desk/page/vendor/htm-preact-3.1.1.js";
import { openLink } from "./app_host.js";
import { start } from "./frame.js";

// The graph's links are addresses of the desk's page: the path is what follows the view's name.
function open(data, address, say) {
  const path = address.slice(address.indexOf("/note/") + "/note/".length);
  say("");
  openLink(data.root + path).catch((error) => say(`${decodeURIComponent(path)}: ${error.message}`));
}

function View({ data, say }) {
  const follow = (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link) open(data, link.getAttribute("href"), say);
  };
  return html`<div onClick=${follow}><${Graph} api=${async () => data.graph} vault="" go=${(address) => open(data, address, say)} /></div>`;
}

start(View, ["graph"]);
