// What is wrong in notes, by kind, each with a link to its line.
import { html, useEffect, useState } from '../vendor/htm-preact-3.1.1.js';
import { ask, counted, Waiting } from './shared.js';

const NAMES = {
  'unresolved-link': 'Links that lead nowhere',
  'unresolved-embed': 'Embeds that lead nowhere',
  'missing-heading': 'Links to headings that are not there',
  'missing-block': 'Links to blocks that are not there',
  'broken-frontmatter': 'Properties that cannot be read',
  'wrong-property': 'Properties of a wrong type',
  'not-a-tag': 'Invalid tags',
  'duplicate-block': 'Block ids used twice',
  'broken-canvas': 'Canvases that cannot be read',
  'broken-base': 'Bases that cannot be read',
  'base-problem': 'Bases with mistakes',
  'empty-view': 'Views of bases that show nothing',
  unreadable: 'Files that cannot be read',
  'not-looked-into': 'More problems in one file',
  'unusable-file': 'Files that cannot be used',
};

// Joins pages of problems by their kind.
function joined(before, page) {
  const kinds = new Map(before.map((each) => [each.kind, each.problems]));
  for (const { kind, problems } of page) kinds.set(kind, [...(kinds.get(kind) ?? []), ...problems]);
  return [...kinds].map(([kind, problems]) => ({ kind, problems }));
}

function Kind({ kind, problems }) {
  const isError = problems[0].is_error;
  return html`<details open>
    <summary><h3>${NAMES[kind] ?? kind}</h3> <span class=${isError ? 'g-error' : 'g-quiet'}>${counted(problems.length, isError ? 'error' : 'warning')}</span></summary>
    <ul class="g-list">${problems.map((each, number) => html`<li key=${number}>
      <a href=${each.href}>${each.path}<span class="g-quiet"> line ${each.line}</span></a><p>${each.message}</p></li>`)}</ul>
  </details>`;
}

export function Problems({ api, vault }) {
  const [state, setState] = useState({ kinds: null, count: 0, page: null, error: '', busy: true });
  const more = (offset, before) => {
    setState((now) => ({ ...now, busy: true }));
    return (api ?? ask)('problems', { vault, offset }).then(
      (page) => setState((now) => ({ kinds: joined(before ?? [], page.kinds), count: (offset ? now.count : 0) + page.count, page, error: '', busy: false })),
      (error) => setState((now) => ({ ...now, error: error.message, busy: false })),
    );
  };
  useEffect(() => { more(0, null); }, [vault]);
  const { kinds, count, page, error, busy } = state;
  return html`<section class="glance" aria-labelledby="g-problems-title">
    <h2 id="g-problems-title">Problems</h2>
    ${kinds === null ? html`<${Waiting} error=${error} what="the problems" />` : html`
      <p role="status">${count === 0 && page.next === null ? `No problems in ${counted(page.files, 'file')}.` : `${counted(count, 'problem')} in ${page.checked} of ${counted(page.files, 'file')}.`}</p>
      ${error && html`<p class="g-error" role="alert">${error}</p>`}
      ${kinds.map((each) => html`<${Kind} key=${each.kind} ...${each} />`)}
      ${page.next !== null && html`<button type="button" aria-disabled=${busy} onClick=${() => !busy && more(page.next, kinds)}>Check the other files</button>`}`}
  </section>`;
}
