// The rows of a base as a table, cards, a list or a board. Parts of cells come from review/glance/base_cells.py.
import { html } from '../vendor/htm-preact-3.1.1.js';
import { pictureAddress } from './shared.js';
import { isAllowedAddress } from './tree.js';

// Columns that say no more than the link to the note, where that stands above the others.
const NAMES = new Set(['file.file', 'file.name', 'file.basename']);
const DIRECTIONS = { ascending: '▲', descending: '▼' };

function Link({ part }) {
  if (!part.href || !isAllowedAddress(part.href)) return html`<span class="g-missing" title="Not in the vault">${part.text}</span>`;
  if (part.href.startsWith('#')) return html`<a href=${part.href} title=${part.path}>${part.text}</a>`;
  return html`<a href=${part.href} rel="noopener noreferrer" target="_blank">${part.text}</a>`;
}

export function Cell({ part, vault }) {
  if (part === null || part === undefined) return null;
  if (part.kind === 'link') return html`<${Link} part=${part} />`;
  if (part.kind === 'number') return html`<span class="g-number">${part.text}</span>`;
  if (part.kind === 'check') return html`<span role="img" aria-label=${part.checked ? 'yes' : 'no'}>${part.checked ? '☑' : '☐'}</span>`;
  if (part.kind === 'tag') return html`<span class="g-tag">${part.text}</span>`;
  if (part.kind === 'error') return html`<span class="g-error">Error: ${part.text}</span>`;
  if (part.kind === 'image') return html`<img class="g-picture" loading="lazy" src=${pictureAddress(vault, part.path)} alt=${part.text} />`;
  if (part.kind === 'list') {
    return html`${part.items.map((item, number) => html`${number > 0 && ', '}<${Cell} part=${item} vault=${vault} />`)}${part.more > 0 && html`<span class="g-quiet"> and ${part.more} more</span>`}`;
  }
  return html`<span class="g-value">${part.text}</span>`;
}

// The rows of each group, in their order; one without a heading where the view has no groups.
function inGroups(data) {
  if (data.groups.length === 0) return [{ group: null, rows: data.rows }];
  const rows = new Map(data.groups.map((group) => [group.number, []]));
  for (const row of data.rows) rows.get(row.group)?.push(row);
  return data.groups.map((group) => ({ group, rows: rows.get(group.number) }));
}

function Summary({ summary, vault }) {
  return html`<span class="g-summary">${summary.name} <${Cell} part=${summary.value} vault=${vault} /></span>`;
}

function GroupName({ group, vault }) {
  return html`${group.value ? html`<${Cell} part=${group.value} vault=${vault} />` : group.text} <span class="g-quiet">(${group.count})</span>`;
}

function GroupSummaries({ group, vault }) {
  return group.summaries.map((each) => html`<span class="g-quiet g-of-column" key=${each.column}>${each.column}: <${Summary} summary=${each} vault=${vault} /></span>`);
}

function Heading({ column, sort, onSort }) {
  const direction = sort === column.id ? 'ascending' : sort === `-${column.id}` ? 'descending' : 'none';
  const next = { none: column.id, ascending: `-${column.id}`, descending: '' }[direction];
  return html`<th scope="col" aria-sort=${direction}>
    <button type="button" onClick=${() => onSort(next)} title="Sort by this column">${column.name}<span aria-hidden="true"> ${DIRECTIONS[direction] ?? ''}</span></button></th>`;
}

function Table({ data, vault, sort, onSort }) {
  const width = data.columns.length + (data.names_files ? 0 : 1);
  const hasSummary = data.columns.some((column) => column.summary);
  return html`<div class="g-scroll" tabindex="0" role="region" aria-label=${`Rows of ${data.view}`}><table>
    <thead><tr>
      ${!data.names_files && html`<th scope="col"><span class="g-plain">note</span></th>`}
      ${data.columns.map((column) => html`<${Heading} key=${column.id} column=${column} sort=${sort} onSort=${onSort} />`)}
    </tr></thead>
    ${inGroups(data).map(({ group, rows }) => html`<tbody key=${group?.number ?? 'all'}>
      ${group && html`<tr class="g-group"><th scope="rowgroup" colspan=${width}><${GroupName} group=${group} vault=${vault} /> <${GroupSummaries} group=${group} vault=${vault} /></th></tr>`}
      ${rows.map((row) => html`<tr key=${row.path}>
        ${!data.names_files && html`<th scope="row"><a href=${row.href} title=${row.path}>${row.name}</a></th>`}
        ${row.cells.map((part, number) => html`<td key=${number} class=${part?.kind === 'number' ? 'g-right' : null}><${Cell} part=${part} vault=${vault} /></td>`)}
      </tr>`)}
    </tbody>`)}
    ${hasSummary && html`<tfoot><tr>
      ${!data.names_files && html`<td></td>`}
      ${data.columns.map((column) => html`<td key=${column.id}>${column.summary && html`<${Summary} summary=${column.summary} vault=${vault} />`}</td>`)}
    </tr></tfoot>`}
  </table></div>`;
}

function Fields({ data, row, vault }) {
  const shown = data.columns.map((column, number) => ({ column, part: row.cells[number] })).filter(({ column, part }) => part && !NAMES.has(column.id));
  if (shown.length === 0) return null;
  return html`<dl class="g-fields">${shown.map(({ column, part }) => html`<div key=${column.id}><dt>${column.name}</dt><dd><${Cell} part=${part} vault=${vault} /></dd></div>`)}</dl>`;
}

function Card({ data, row, vault }) {
  return html`<li class="g-card">
    ${row.image && html`<img class=${`g-cover ${data.fit === "contain" ? "g-contain" : "g-fill"}`} loading="lazy" src=${pictureAddress(vault, row.image.path)} alt="" />`}
    <p class="g-name"><a href=${row.href} title=${row.path}>${row.name}</a></p>
    <${Fields} data=${data} row=${row} vault=${vault} /></li>`;
}

function Item({ data, row, vault }) {
  return html`<li><a href=${row.href} title=${row.path}>${row.name}</a><${Fields} data=${data} row=${row} vault=${vault} /></li>`;
}

function Summaries({ data, vault }) {
  const summed = data.columns.filter((column) => column.summary);
  if (summed.length === 0) return null;
  return html`<p class="g-summaries">${summed.map((column) => html`<span class="g-of-column" key=${column.id}>${column.name}: <${Summary} summary=${column.summary} vault=${vault} /></span>`)}</p>`;
}

function Sections({ data, vault, Row, kind }) {
  return html`${inGroups(data).map(({ group, rows }) => html`<section key=${group?.number ?? 'all'} class="g-section">
      ${group && html`<h3><${GroupName} group=${group} vault=${vault} /></h3><p><${GroupSummaries} group=${group} vault=${vault} /></p>`}
      <ul class=${kind}>${rows.map((row) => html`<${Row} key=${row.path} data=${data} row=${row} vault=${vault} />`)}</ul>
    </section>`)}<${Summaries} data=${data} vault=${vault} />`;
}

export function Rows({ data, vault, sort, onSort }) {
  if (data.layout === 'cards') return html`<${Sections} data=${data} vault=${vault} Row=${Card} kind="g-cards" />`;
  if (data.layout === 'list') return html`<${Sections} data=${data} vault=${vault} Row=${Item} kind="g-items" />`;
  if (data.layout === 'board') {
    return html`<div class="g-scroll g-board" tabindex="0" role="region" aria-label=${`Board of ${data.view}`}>
      <${Sections} data=${{ ...data, columns: data.columns.map((column) => ({ ...column, summary: null })) }} vault=${vault} Row=${Card} kind="g-stack" /></div>
      <${Summaries} data=${data} vault=${vault} />`;
  }
  return html`<${Table} data=${data} vault=${vault} sort=${sort} onSort=${onSort} />`;
}
