// Who wrote and read what in the last days: a picture, and the same as a table.
import { html } from '../vendor/htm-preact-3.1.1.js';
import { counted, useAnswer, Waiting } from './shared.js';

const WIDTH = 560;
const HEIGHT = 160;
const COLOURS = ['g-c0', 'g-c1', 'g-c2', 'g-c3', 'g-c4', 'g-c5'];
const dayName = (day) => new Date(`${day}T12:00:00`).toLocaleDateString('en', { weekday: 'short', day: 'numeric' });

function Bars({ days, clients }) {
  const most = Math.max(1, ...days.map((day) => clients.reduce((sum, client) => sum + (client.days[day] ?? 0), 0)));
  const step = WIDTH / days.length;
  return html`<svg class="g-bars" viewBox=${`0 0 ${WIDTH} ${HEIGHT + 24}`} aria-hidden="true">
    ${days.map((day, at) => {
      let top = HEIGHT;
      return html`<g key=${day}>
        ${clients.map((client, number) => {
          const height = ((client.days[day] ?? 0) / most) * (HEIGHT - 18);
          top -= height;
          return height > 0 && html`<rect key=${client.name} class=${COLOURS[number % COLOURS.length]} x=${at * step + step * 0.15} y=${top} width=${step * 0.7} height=${height} />`;
        })}
        <text x=${at * step + step / 2} y=${HEIGHT + 18} text-anchor="middle">${dayName(day)}</text>
      </g>`;
    })}
    <line x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} />
    <text x="0" y="12">most on one day: ${most}</text>
  </svg>`;
}

function Part({ title, unit, days, told }) {
  if (told.total === 0) return html`<div><h3>${title}</h3><p>Nothing in these days.</p></div>`;
  return html`<div>
    <h3>${title}</h3>
    <${Bars} days=${days} clients=${told.clients} />
    <div class="g-wide" tabindex="0" role="region" aria-label=${`${title}, by client and day`}><table>
      <caption>${counted(told.total, unit)}</caption>
      <thead><tr><th scope="col">Client</th>${days.map((day) => html`<th scope="col" key=${day}>${dayName(day)}</th>`)}<th scope="col">All</th></tr></thead>
      <tbody>${told.clients.map((client, number) => html`<tr key=${client.name}>
        <th scope="row"><svg width="10" height="10" aria-hidden="true"><rect class=${COLOURS[number % COLOURS.length]} width="10" height="10" /></svg> ${client.name}</th>
        ${days.map((day) => html`<td key=${day}>${client.days[day] ?? 0}</td>`)}<td>${client.total}</td></tr>`)}</tbody>
    </table></div>
    <h4>By folder</h4>
    <ul>${told.folders.slice(0, 20).map((each) => html`<li key=${each.folder}>${each.folder || 'the vault’s own folder'}: ${each.count}</li>`)}</ul>
  </div>`;
}

export function Activity({ api, vault }) {
  const { data, error } = useAnswer(api, 'activity', { vault });
  return html`<section class="glance" aria-labelledby="g-activity-title">
    <h2 id="g-activity-title">Activity of the last days</h2>
    ${data === null ? html`<${Waiting} error=${error} what="the activity" />` : html`
      <${Part} title="Written" unit="file" days=${data.days} told=${data.written} />
      ${data.read === null ? html`<h3>Read</h3><p>${data.note}</p>` : html`<${Part} title="Read" unit="call" days=${data.days} told=${data.read} />`}`}
  </section>`;
}
