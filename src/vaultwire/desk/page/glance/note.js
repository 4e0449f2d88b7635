// One note, read only, with the links to it.
import { html, useEffect, useRef } from '../vendor/htm-preact-3.1.1.js';
import { counted, leaf, useAnswer, Waiting } from './shared.js';
import { renderTree } from './tree.js';

// The block that begins at a line or last before it.
function blockAt(root, line) {
  let found = null;
  for (const block of root.querySelectorAll('[data-line]')) {
    if (Number(block.getAttribute('data-line')) > line) break;
    found = block;
  }
  return found;
}

// A path may hold a question mark of its own, so only the end counts.
function parted(rest) {
  const found = /^(.*?)\?line=(\d{1,9})$/s.exec(rest);
  return found ? { path: found[1], line: Number(found[2]) } : { path: rest, line: 0 };
}

export function Note({ api, vault, rest = '' }) {
  const { path, line } = parted(rest);
  const { data, error } = useAnswer(api, 'note', { vault, path });
  const text = useRef(null);
  useEffect(() => {
    if (data === null || text.current === null || line === 0) return;
    const block = blockAt(text.current, line);
    if (block === null) return;
    block.classList.add('g-target');
    block.setAttribute('tabindex', '-1');
    block.focus({ preventScroll: true });
    block.scrollIntoView({ block: 'center' });
  }, [data, line]);
  if (path === '') return html`<section class="glance"><h2>Note</h2><p>Choose a note in the search, the graph or the problems.</p></section>`;
  if (data === null) return html`<section class="glance"><${Waiting} error=${error} what="the note" /></section>`;
  return html`<section class="glance g-note" aria-labelledby="g-note-title">
    <h2 id="g-note-title">${data.name}</h2>
    <p class="g-quiet">${data.path} · changed <time datetime=${data.changed}>${new Date(data.changed).toLocaleString()}</time></p>
    ${data.problems.map((problem) => html`<p class="g-error" key=${problem}>${problem}</p>`)}
    <div class="g-columns">
      <article class="g-text" ref=${text} aria-label=${data.name}>${renderTree(data.tree)}</article>
      <aside aria-label="Links">
        <h3>${counted(data.backlink_count, 'backlink')}</h3>
        <ul>${data.backlinks.map((link, number) => html`<li key=${number}>
          <a href=${link.href}>${leaf(link.path)}</a><span class="g-quiet"> line ${link.line}</span>
          <p>${link.text}</p></li>`)}</ul>
        ${data.backlink_count > data.backlinks.length && html`<p class="g-quiet">The first ${data.backlinks.length} are shown.</p>`}
        <h3>${counted(data.link_count, 'link')} from here</h3>
        <ul>${data.links.map((link, number) => html`<li key=${number}>${link.href
          ? html`<a href=${link.href}>${link.text}</a>`
          : html`<span>${link.text}<span class="g-quiet">${link.path ? '' : ' (not in the vault)'}</span></span>`}</li>`)}</ul>
      </aside>
    </div>
  </section>`;
}
