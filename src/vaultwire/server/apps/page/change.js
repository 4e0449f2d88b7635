// One change, with Undo. What waits for the person is only shown: an agent can call every tool, so no tool decides it.

import { FileDiff } from "../../../desk/page/diff.js";
import { html, useEffect, useState } from "../../../desk/page/vendor/htm-preact-3.1.1.js";
import { capital, clientOf, count, fullTime, nameOf, stateOf, waits } from "../../../desk/page/words.js";
import { callTool, canCallTools } from "./app_host.js";
import { dataOf, start, vaultOf } from "./frame.js";

const STATE = { view: "source", layout: "unified", online: true, busy: false };

function File({ item, file }) {
  const shown = file.to ?? file.path;
  const lacking = file.is_cut ? "This is too long for this view. The desk shows all of it." : file.kind === "image" ? "The desk shows the picture before and after." : "";
  if (lacking) return html`<section class="file" aria-label=${shown}><header><h3>${shown}</h3></header><p class="muted">${lacking}</p></section>`;
  return html`<${FileDiff} desk=${{}} state=${STATE} item=${item} file=${file} isOnly=${true} isFixed=${true} />`;
}

function Decide({ item, busy, undo }) {
  if (waits(item)) return html`<p class="notice">This waits for you: nothing is written yet. Open the desk to decide (run <code>vaultwire desk</code>).</p>`;
  if (!item.id.startsWith("c")) return null;
  const isUndone = item.state === "undone";
  const off = isUndone || busy || !item.can_undo || !canCallTools();
  return html`<p class="app-decide"><button type="button" aria-disabled=${off ? "true" : null} aria-label=${`Undo ${nameOf(item.id)}`} onClick=${() => { if (!off) undo(); }}>${isUndone ? "Undone" : busy ? "Undoing…" : "Undo"}</button>
    <span class="muted">${isUndone ? "" : "To keep it, or to undo a part of it, open the desk."}</span></p>`;
}

function Change({ data, say }) {
  const [item, setItem] = useState(data.item);
  const [busy, setBusy] = useState(false);
  useEffect(() => setItem(data.item), [data]);
  const undo = async () => {
    const change = Number(item.id.slice(1));
    setBusy(true);
    say("");
    try {
      await callTool("undo_changes", { changes: [change], ...vaultOf(data) });
      setItem({ ...item, state: "undone", can_undo: false });
      say(`${capital(nameOf(item.id))} is undone. The undo is a change of its own.`);
      const now = dataOf(await callTool("list_changes", { change, ...vaultOf(data) }));
      if (now?.item) setItem(now.item);
    } catch (error) {
      say(error.message);
    }
    setBusy(false);
  };
  const [state, sign, words] = stateOf(item);
  return html`<article class="item" aria-labelledby="item-title"><div class="item-head">
    <h2 id="item-title">${capital(item.summary || item.label)}</h2>
    <p><span class="state" data-state=${state}><span aria-hidden="true">${sign} </span>${words}</span> <span class="muted">· ${capital(nameOf(item.id))}, ${clientOf(item)}, <time datetime=${item.time}>${fullTime(item.time)}</time></span></p>
    ${item.conflict && item.state !== "undone" && html`<p class="notice">${item.conflict}</p>`}</div>
    <${Decide} item=${item} busy=${busy} undo=${undo} />
    ${item.files.map((file) => html`<${File} key=${file.index} item=${item} file=${file} />`)}
    ${item.file_count > item.files.length && html`<p class="muted">${count(item.file_count - item.files.length, "more file")}: the desk shows them.</p>`}</article>`;
}

function Changes({ data, say }) {
  const [chosen, choose] = useState(null);
  const open = (change) => {
    say("");
    callTool("list_changes", { change, ...vaultOf(data) }).then((result) => choose(dataOf(result))).catch((error) => say(error.message));
  };
  if (chosen) return html`<p><button type="button" onClick=${() => choose(null)}>‹ All changes</button></p><${Change} data=${chosen} say=${say} />`;
  return html`<h2>${count(data.changes.length, "change")}</h2><ul class="app-changes">${data.changes.map((each) => html`<li key=${each.change}>
    <button type="button" onClick=${() => open(each.change)}>Change ${each.change}</button> <span>${each.files.map((file) => file.to ?? file.path).slice(0, 3).join(", ")}${each.file_count > 3 ? ` and ${each.file_count - 3} more` : ""}</span>
    <span class="muted">${each.tool}, ${each.client}, ${fullTime(each.time)}${each.undone_by ? ", undone" : ""}</span></li>`)}</ul>`;
}

start(({ data, say }) => (data.kind === "changes" ? html`<${Changes} data=${data} say=${say} />` : html`<${Change} data=${data} say=${say} />`), ["change", "changes"]);
