// What the views have in common: waiting for the result, its text where there is no more, and links.

import { html, render, useEffect, useState } from "../../../desk/page/vendor/htm-preact-3.1.1.js";
import { begin, openLink, textOf } from "./app_host.js";

const DATA = "vaultwire/view";

export function dataOf(result) {
  return result?._meta?.[DATA] ?? null;
}

export function vaultOf(data) {
  return data.vault ? { vault: data.vault } : {};
}

// A link leads out of the frame, so the host is asked to open it.
function followLinks(say) {
  return (event) => {
    const link = event.target.closest("a[href]");
    if (!link) return;
    event.preventDefault();
    const url = link.getAttribute("href");
    if (url.startsWith("#")) return;
    say("");
    openLink(url).catch((error) => say(`${link.title || link.textContent.trim()}: ${error.message}`));
  };
}

function App({ View, kinds }) {
  const [result, setResult] = useState(null);
  const [said, say] = useState("Waiting for the result…");
  useEffect(() => {
    const hear = (given) => { say(""); setResult(given); };
    begin({ onResult: hear, onCancelled: () => say("The call was cancelled."), onEnd: () => render(null, document.getElementById("app")) }).catch((error) => say(error.message));
  }, []);
  const data = dataOf(result);
  return html`<div onClick=${followLinks(say)}>
    ${result && (data && kinds.includes(data.kind) ? html`<${View} data=${data} say=${say} />` : html`<pre class="plain">${textOf(result)}</pre>`)}
    <p class="app-said" role="status">${said}</p></div>`;
}

export function start(View, kinds) {
  render(html`<${App} View=${View} kinds=${kinds} />`, document.getElementById("app"));
}
