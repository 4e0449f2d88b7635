// The graph of notes, drawn by sigma; the places come from the server. A list beside it says the same in words.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/htm-preact-3.1.1.js';
import { counted, leaf, noteAddress, useAnswer, Waiting } from './shared.js';

const MOST_LISTED = 200;
// Colours that can be told apart on light and on dark ground.
const COLOURS = ['#3b82c4', '#c2571a', '#3f9142', '#b0479c', '#8a6d00', '#0f8f8f', '#c43b4e', '#6a5acd', '#7a7a7a', '#4d7c0f'];

const loading = new Map();
// sigma and graphology are scripts that set a global name, so they are loaded as such, when the graph is opened.
function load(file, name) {
  if (globalThis[name]) return Promise.resolve(globalThis[name]); // it is part of the page
  if (!loading.has(file)) {
    loading.set(file, new Promise((done, failed) => {
      const script = document.createElement('script');
      script.src = new URL(`../vendor/${file}`, import.meta.url).href;
      script.onload = () => done(globalThis[name]);
      script.onerror = () => { loading.delete(file); failed(new Error(`${file} could not be loaded.`)); };
      document.head.append(script);
    }));
  }
  return loading.get(file);
}

async function draw(box, data, go) {
  const [graphology, Sigma] = await Promise.all([load('graphology-0.26.0.js', 'graphology'), load('sigma-3.0.3.js', 'Sigma')]);
  const graph = new graphology.Graph({ type: 'undirected', multi: false });
  // Small notes and thin lines: in a browser without a GPU each pixel counts.
  const isLarge = data.nodes.length > 2000;
  const smallest = isLarge ? 1 : 2;
  data.nodes.forEach(([path, folder, x, y, links], number) => {
    graph.addNode(number, { x, y, size: smallest + Math.min(8, Math.sqrt(links) * smallest / 2), label: leaf(path), color: COLOURS[folder % COLOURS.length] });
  });
  for (let at = 0; at < data.edges.length; at += 2) graph.mergeEdge(data.edges[at], data.edges[at + 1]);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const sigma = new Sigma(graph, box, {
    hideEdgesOnMove: data.edges.length > 10000,
    labelRenderedSizeThreshold: isLarge ? 5 : data.nodes.length > 100 ? 7 : 0,
    ...(isLarge && { edgeProgramClasses: { line: Sigma.rendering.EdgeLineProgram } }),
    defaultEdgeColor: dark.matches ? '#3a4048' : '#d5d8dc',
    labelColor: { color: dark.matches ? '#e6e6e6' : '#1c1c1c' },
    zIndex: !isLarge,
  });
  const recolour = () => {
    sigma.setSetting('defaultEdgeColor', dark.matches ? '#3a4048' : '#d5d8dc');
    sigma.setSetting('labelColor', { color: dark.matches ? '#e6e6e6' : '#1c1c1c' });
  };
  dark.addEventListener('change', recolour);
  sigma.on('clickNode', ({ node }) => go(data.nodes[Number(node)][0]));
  return { sigma, end: () => { dark.removeEventListener('change', recolour); sigma.kill(); } };
}

function useDrawing(data, go, found) {
  const box = useRef(null);
  const drawn = useRef(null);
  const [error, setError] = useState('');
  useEffect(() => {
    if (data === null) return undefined;
    let gone = false;
    draw(box.current, data, go).then((made) => {
      if (gone) made.end();
      else { drawn.current = made; box.current.dataset.drawn = String(data.nodes.length); }
    }).catch((reason) => { if (!gone) setError(`The graph cannot be drawn here (${reason.message}). The list has the same notes.`); });
    return () => { gone = true; drawn.current?.end(); drawn.current = null; };
  }, [data]);
  useEffect(() => {
    drawn.current?.sigma.setSetting('nodeReducer', found === null ? null : (node, shown) => (
      found.has(Number(node)) ? { ...shown, forceLabel: found.size <= 30, zIndex: 1 } : { ...shown, color: '#9993', label: '' }));
  }, [found]);
  const camera = (what) => () => drawn.current?.sigma.getCamera()[what]({ duration: matchMedia('(prefers-reduced-motion: reduce)').matches ? 1 : 200 });
  return { box, error, camera };
}

function Picture({ data, error: asked, drawing, go, vault }) {
  const { box, error, camera } = drawing;
  return html`<div class="g-graph-side">
    <div class="g-graph" ref=${box} aria-hidden="true"></div>
    ${(error || asked) && html`<p class="g-error" role="alert">${error || asked}</p>`}
    <p class="g-buttons">
      <button type="button" onClick=${camera('animatedZoom')}>Zoom in</button>
      <button type="button" onClick=${camera('animatedUnzoom')}>Zoom out</button>
      <button type="button" onClick=${camera('animatedReset')}>Show all</button>
    </p>
    <ul class="g-legend" aria-label="Folders">${(data?.folders ?? []).slice(0, 30).map((folder, number) => html`<li key=${folder}>
      <svg width="10" height="10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill=${COLOURS[number % COLOURS.length]} /></svg> ${folder || 'no folder'}</li>`)}</ul>
  </div>`;
}

export function Graph({ api, vault, go }) {
  const { data, error } = useAnswer(api, 'graph', { vault });
  const [filter, setFilter] = useState('');
  const open = go ?? ((address) => { location.hash = address; });
  const ranked = useMemo(() => (data === null ? [] : data.nodes.map((node, number) => [node, number]).sort((a, b) => b[0][4] - a[0][4])), [data]);
  const wanted = filter.trim().toLowerCase();
  const matching = useMemo(() => ranked.filter(([node]) => node[0].toLowerCase().includes(wanted)), [ranked, wanted]);
  const found = useMemo(() => (wanted === '' ? null : new Set(matching.map(([, number]) => number))), [matching, wanted]);
  const drawing = useDrawing(data, (path) => open(noteAddress(vault, path)), found);
  return html`<section class="glance" aria-labelledby="g-graph-title">
    <h2 id="g-graph-title">Graph</h2>
    <p class="g-quiet" role="status">${data === null ? (error || 'Loading the graph…')
      : `${counted(data.notes, 'note')}, ${counted(data.links, 'link')} between them.${data.is_cut ? ' The notes with the most links are shown.' : ''}`}</p>
    <div class="g-columns">
      <${Picture} data=${data} drawing=${drawing} />
      <aside aria-label="Notes of the graph">
        <label for="g-filter">Show notes with this in their path</label>
        <input id="g-filter" type="search" autocomplete="off" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
        <p class="g-quiet" role="status">${counted(matching.length, 'note')}${matching.length > MOST_LISTED ? `, the ${MOST_LISTED} with the most links listed` : ''}.</p>
        <ol class="g-list">${matching.slice(0, MOST_LISTED).map(([node]) => html`<li key=${node[0]}>
          <a href=${noteAddress(vault, node[0])}>${leaf(node[0])}</a><span class="g-quiet"> ${counted(node[4], 'link')}</span></li>`)}</ol>
      </aside>
    </div>
  </section>`;
}
