// Search as you type, in Obsidian's own syntax.
import { html, useState } from '../vendor/htm-preact-3.1.1.js';
import { counted, leaf, useAnswer, Waiting } from './shared.js';

function Parts({ parts }) {
  return parts.map((part) => (part.mark ? html`<mark>${part.t}</mark>` : part.t));
}

function said(data) {
  if (data.problem) return data.problem;
  if (data.is_recent) return `The notes that changed last, of ${counted(data.total, 'note')}.`;
  const least = data.is_exact ? '' : 'At least ';
  return `${least}${counted(data.total, 'note matches', 'notes match')}.`;
}

function Hit({ note }) {
  return html`<li class="g-hit">
    <a class="g-path" href=${note.href}>${leaf(note.path)} <span class="g-quiet">${note.path}</span></a>
    ${note.missing.length > 0 && html`<p class="g-quiet">Not in it: ${note.missing.join(', ')}</p>`}
    ${note.lines.length > 0 && html`<ul>
      ${note.lines.map((line) => html`<li key=${line.line}>
        <a href=${line.href} aria-label=${`${leaf(note.path)}, line ${line.line}`}><span class="g-line">${line.line}</span></a>
        <span><${Parts} parts=${line.parts} /></span></li>`)}
    </ul>`}
  </li>`;
}

export function Search({ api, vault, query = '' }) {
  const [q, setQ] = useState(query);
  const { data, error } = useAnswer(api, 'search', { vault, q }, 120);
  return html`<section class="glance g-search" aria-labelledby="g-search-title">
    <h2 id="g-search-title">Search</h2>
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <label for="g-query">Search the notes of this vault</label>
      <input id="g-query" type="search" autocomplete="off" spellcheck=${false} value=${q}
        placeholder='meeting -private, "a phrase", tag:#project, [status:draft]' onInput=${(event) => setQ(event.target.value)} />
    </form>
    ${data === null ? html`<${Waiting} error=${error} what="notes" />` : html`
      <p role="status" class=${data.problem ? 'g-error' : 'g-quiet'}>${said(data)}</p>
      ${data.hints.map((hint) => html`<p class="g-quiet" key=${hint}>${hint}</p>`)}
      <ol class="g-hits">${data.notes.map((note) => html`<${Hit} key=${note.path} note=${note} />`)}</ol>`}
  </section>`;
}
