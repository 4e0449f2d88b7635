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
  'conflict-copy': 'Copies that sync programs made',
  'conflict-marks': 'Conflicts that Git left in notes',
  'not-looked-into': 'More problems in one file',
  'unusable-file': 'Files that cannot be used',
};

// Joins pages of problems by their kind.
function joined(before, page) {
  const kinds = new Map(before.map((each) => [each.kind, each.problems]));
  for (const { kind, problems } of page) kinds.set(kind, [...(kinds.get(kind) ?? []), ...problems]);
  return [...kinds].map(([kind, problems]) => ({ kind, problems }));
}

const CHOICES = [['mine', 'Mine'], ['theirs', 'Theirs'], ['both', 'Both']];

// Both versions of what clashes side by side, and the choice between them.
function Clash({ clash, number, choice, choose }) {
  const title = clash.name || `Line ${clash.line}`;
  return html`<fieldset class="g-clash"><legend>${title}</legend>
    <div class="g-sides">${[['mine', 'Mine'], ['theirs', 'Theirs']].map(([side, word]) => html`<div key=${side}>
      <h5>${word}</h5><pre>${clash[side] || '(not there)'}</pre></div>`)}</div>
    <p>${CHOICES.map(([value, word]) => html`<label key=${value}><input type="radio" name=${`clash-${number}`} value=${value}
      checked=${choice === value} onChange=${() => choose(number, value)} /> ${word}</label> `)}</p>
  </fieldset>`;
}

// One conflict: what both versions come to, what clashes, and the button that joins them.
function Conflict({ path, send, vault }) {
  const [found, setFound] = useState(null);
  const [choices, setChoices] = useState({});
  const [state, setState] = useState({ error: '', busy: true, done: '' });
  const work = (more, done) => {
    setState({ error: '', busy: true, done: '' });
    return send('conflict', { vault, path, ...more }).then(
      (answer) => { done(answer); setState((now) => ({ ...now, busy: false })); },
      (error) => setState({ error: error.message, busy: false, done: '' }),
    );
  };
  useEffect(() => { work({}, setFound); }, [path]);
  if (state.done) return html`<p role="status">${state.done}</p>`;
  if (found === null) return html`<${Waiting} error=${state.error} what="both versions" />`;
  const chosen = found.clashes.map((_, number) => choices[number]);
  const isReady = chosen.every(Boolean) && !state.busy;
  const join = () => isReady && work({ join: true, choose: chosen, etag: found.etag }, (answer) => {
    setState((now) => ({ ...now, done: `Joined as change ${answer.change}, which can be undone.` }));
  });
  const choose = (number, value) => {
    const now = { ...choices, [number]: value };
    setChoices(now);
    const all = found.clashes.map((_, each) => now[each]);
    if (all.every(Boolean)) work({ choose: all, etag: found.etag }, setFound);  // shows what is written before it is
  };
  return html`<div class="g-conflict">
    <p>${found.made}. ${found.compared_with ? `Compared with ${found.compared_with}.` : 'No earlier version is known, so nothing counts as removed.'}</p>
    ${found.clashes.map((clash, number) => html`<${Clash} key=${number} clash=${clash} number=${number} choice=${choices[number]}
      choose=${choose} />`)}
    ${found.diff && html`<pre class="g-diff">${found.diff}</pre>`}
    ${state.error && html`<p class="g-error" role="alert">${state.error}</p>`}
    <button type="button" class="g-join" aria-disabled=${!isReady} onClick=${join}>${found.copy ? 'Join, and move the copy to the trash' : 'Join'}</button>
  </div>`;
}

function Kind({ kind, problems, send, vault }) {
  const [open, setOpen] = useState('');
  const isError = problems[0].is_error;
  return html`<details open>
    <summary><h3>${NAMES[kind] ?? kind}</h3> <span class=${isError ? 'g-error' : 'g-quiet'}>${counted(problems.length, isError ? 'error' : 'warning')}</span></summary>
    <ul class="g-list">${problems.map((each, number) => html`<li key=${number}>
      <a href=${each.href}>${each.path}<span class="g-quiet"> line ${each.line}</span></a><p>${each.message}</p>
      ${send && each.can_join && html`<button type="button" class="g-compare" aria-expanded=${open === each.path}
        onClick=${() => setOpen(open === each.path ? '' : each.path)}>Compare and join</button>`}
      ${open === each.path && html`<${Conflict} path=${each.path} send=${send} vault=${vault} />`}</li>`)}</ul>
  </details>`;
}

export function Problems({ api, send, vault }) {
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
      ${kinds.map((each) => html`<${Kind} key=${each.kind} ...${each} send=${send} vault=${vault} />`)}
      ${page.next !== null && html`<button type="button" aria-disabled=${busy} onClick=${() => !busy && more(page.next, kinds)}>Check the other files</button>`}`}
  </section>`;
}
