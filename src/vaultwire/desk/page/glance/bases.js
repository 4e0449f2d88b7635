// The bases of the vault: a list of them, and one view of a base with its rows. Nothing is changed here.
import { html, useEffect, useState } from '../vendor/htm-preact-3.1.1.js';
import { Cell, Rows } from './base_rows.js';
import { ask, counted, leaf, useAnswer, viewAddress, Waiting } from './shared.js';

const TYPES = new Set(['table', 'cards', 'list']);
const WAIT = 150;
const NOTHING_CHOSEN = { of: '', sort: '', filter: '' };

export function Bases({ api, vault }) {
  const { data, error } = useAnswer(api, 'bases', { vault });
  return html`<section class="glance" aria-labelledby="g-bases-title">
    <h2 id="g-bases-title">Bases</h2>
    ${data === null ? html`<${Waiting} error=${error} what="the bases" />` : data.total === 0 ? html`
      <p>There is no base in this vault. A base shows notes as a table, cards or a list. It is a file that ends in <code>.base</code>: make one in Obsidian, or ask an assistant for one.</p>` : html`
      <p role="status" class="g-quiet">${counted(data.total, 'base')}.${data.total > data.bases.length ? ` The first ${data.bases.length} are shown.` : ''}</p>
      <ul class="g-list g-base-list">${data.bases.map((base) => html`<li key=${base.path}>
        <a class="g-base-name" href=${base.href}>${base.name}</a> <span class="g-quiet">${base.path}</span>
        ${base.problem && html`<p class="g-error">${base.problem}</p>`}
        ${base.views.length > 0 && html`<ul class="g-tabs" aria-label=${`Views of ${base.name}`}>${base.views.map((view) => html`<li key=${view.name}>
          <a href=${view.href}>${view.name}</a> <span class="g-quiet">${view.type}</span></li>`)}</ul>`}
      </li>`)}</ul>`}
  </section>`;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// As base_address in review/glance/addresses.py. A path may hold a question mark of its own, so only the end counts.
export function partedBase(rest) {
  const found = /^(.*?)(?:\?((?:view|block|this)=[^&?/]*(?:&(?:view|block|this)=[^&?/]*)*))?$/s.exec(rest);
  const given = Object.fromEntries((found?.[2] ?? '').split('&').map((each) => each.split('=')));
  return { path: found?.[1] ?? rest, view: decoded(given.view ?? ''), block: /^\d{1,6}$/.test(given.block ?? '') ? Number(given.block) : 0, this: decoded(given.this ?? '') };
}

function joined(before, page) {
  const known = new Set(before.groups.map((group) => group.number));
  return { ...page, rows: [...before.rows, ...page.rows], groups: [...before.groups, ...page.groups.filter((group) => !known.has(group.number))] };
}

// The rows so far of one question; a late answer to an earlier question is dropped.
function useRows(api, params) {
  const [state, setState] = useState({ data: null, error: '', busy: true, key: '', sort: '' });
  const key = JSON.stringify(params);
  const failed = (error) => setState((now) => ({ ...now, error: error.message, busy: false }));
  useEffect(() => {
    const stop = new AbortController();
    setState((now) => ({ ...now, busy: true }));
    const timer = setTimeout(() => {
      (api ?? ask)('base', params, stop.signal).then(
        (data) => { if (!stop.signal.aborted) setState({ data, error: '', busy: false, key, sort: params.sort }); },
        (error) => { if (!stop.signal.aborted) failed(error); },
      );
    }, state.data === null ? 0 : WAIT);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [key]);
  const more = () => {
    setState((now) => ({ ...now, busy: true }));
    (api ?? ask)('base', { ...params, offset: state.data.next }).then(
      (page) => setState((now) => (now.key !== key ? now : page.problem ? { ...now, error: page.problem, busy: false } : { ...now, data: joined(now.data, page), error: '', busy: false })),
      failed,
    );
  };
  return { ...state, more };
}

function said(data, filter) {
  if (data.problem) return data.problem;
  if (data.in_view === 0) return 'No file meets the filters of this view.';
  if (filter && data.total === 0) return `No row has “${filter}” in a cell.`;
  const rows = filter ? `${data.total.toLocaleString('en')} of ${counted(data.in_view, 'row')}.` : `${counted(data.in_view, 'row')}.`;
  const limited = data.matches > data.in_view ? ` The view has a limit: ${counted(data.matches, 'file meets its filters', 'files meet its filters')}.` : '';
  const other = TYPES.has(data.type) || data.layout === 'board' ? '' : ` A view of the type “${data.type}” is shown as a table.`;
  return `${rows}${limited}${other}`;
}

function Verdicts({ told, vault }) {
  return html`<div class="g-scroll" tabindex="0" role="region" aria-label="Filters and formulas"><table>
    <thead><tr><th scope="col">filter or formula</th><th scope="col">holds</th><th scope="col">gave</th></tr></thead>
    <tbody>
      ${told.filters.map((each, number) => html`<tr key=${number}><th scope="row"><code class=${`g-deep-${Math.min(each.depth, 6)}`}>${each.text}</code> <span class="g-quiet">${each.of}</span></th>
        <td>${each.holds ? 'yes' : 'no'}</td><td><${Cell} part=${each.value} vault=${vault} /></td></tr>`)}
      ${told.formulas.map((each) => html`<tr key=${each.name}><th scope="row">${each.name} <code>${each.text}</code> <span class="g-quiet">formula</span></th>
        <td></td><td><${Cell} part=${each.value} vault=${vault} /></td></tr>`)}
    </tbody></table></div>`;
}

function Reasons({ api, params, vault }) {
  const { data, error } = useAnswer(api, 'base_why', params);
  if (data === null) return html`<${Waiting} error=${error} what="the reasons" />`;
  if (data.problem) return html`<p class="g-error" role="status">${data.problem}</p>`;
  return html`<p role="status"><a href=${data.href}>${leaf(data.note)}</a> ${data.is_in ? 'meets the filters of this view.' : 'is not in this view.'}${
    data.is_in && data.limit !== null ? ` The view shows the first ${counted(data.limit, 'file')} only.` : ''}</p>
    ${data.dropped_by.length > 0 && html`<ul class="g-reasons">${data.dropped_by.map((each, number) => html`<li key=${number}>${each}</li>`)}</ul>`}
    ${data.filters.length + data.formulas.length > 0 && html`<${Verdicts} told=${data} vault=${vault} />`}`;
}

function Why({ api, asked, vault }) {
  const [typed, setTyped] = useState('');
  const [note, setNote] = useState('');
  return html`<details class="g-why"><summary>Why is a note here, or not?</summary>
    <form onSubmit=${(event) => { event.preventDefault(); setNote(typed); }}>
      <label for="g-why-note">Name of a note</label>
      <div class="g-field"><input id="g-why-note" type="search" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.target.value)} />
      <button type="submit">Explain</button></div>
    </form>
    ${note && html`<${Reasons} key=${note} api=${api} params=${{ ...asked, note }} vault=${vault} />`}
  </details>`;
}

function Where({ data, vault }) {
  return html`<p class="g-quiet"><a href=${viewAddress(vault, 'bases')}>All bases</a> · ${data.href ? html`in the note <a href=${data.href}>${leaf(data.path)}</a>` : data.path}${
    data.this && html` · shown as in <a href=${data.this.href}>${leaf(data.this.path)}</a>`}</p>`;
}

export function Base({ api, vault, rest = '' }) {
  const asked = { vault, ...partedBase(rest) };
  const [kept, setKept] = useState(NOTHING_CHOSEN);
  const chosen = kept.of === rest ? kept : { ...NOTHING_CHOSEN, of: rest }; // another view has other columns
  const { data, error, busy, more, sort: shownSort } = useRows(api, { ...asked, sort: chosen.sort, filter: chosen.filter.trim() });
  if (data === null) return html`<section class="glance"><${Waiting} error=${error} what="the base" /></section>`;
  const hasSummaries = data.columns.some((column) => column.summary) || data.groups.some((group) => group.summaries.length > 0);
  return html`<section class="glance g-base" aria-labelledby="g-base-title" aria-busy=${busy}>
    <h2 id="g-base-title">${data.name}</h2>
    <${Where} data=${data} vault=${vault} />
    ${data.views.length > 0 && html`<nav aria-label="Views of this base"><ul class="g-tabs">${data.views.map((view) => html`<li key=${view.name}>
      <a href=${view.href} aria-current=${view.name === data.view ? 'page' : null}>${view.name}</a></li>`)}</ul></nav>`}
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <label for="g-filter-rows">Show only rows with this text</label>
      <input id="g-filter-rows" type="search" autocomplete="off" spellcheck=${false} value=${chosen.filter} onInput=${(event) => setKept({ ...chosen, filter: event.target.value })} />
    </form>
    <p role="status" class=${data.problem ? 'g-error' : 'g-quiet'}>${said(data, chosen.filter.trim())}</p>
    ${error && html`<p class="g-error" role="alert">${error}</p>`}
    ${data.problems.map((problem) => html`<p class="g-error" key=${problem}>${problem}</p>`)}
    ${data.rows.length > 0 && html`<${Rows} data=${data} vault=${vault} sort=${shownSort} onSort=${(sort) => setKept({ ...chosen, sort })} />`}
    ${data.rows.length > 0 && hasSummaries && chosen.filter.trim() && html`<p class="g-quiet">The summaries are of all ${counted(data.in_view, 'row')}.</p>`}
    ${data.next !== null && html`<p><button type="button" aria-disabled=${busy} onClick=${() => !busy && more()}>Show more rows</button> <span class="g-quiet">${data.rows.length} of ${data.total} are shown.</span></p>`}
    ${!data.problem && html`<${Why} key=${`${rest}`} api=${api} asked=${asked} vault=${vault} />`}
  </section>`;
}
