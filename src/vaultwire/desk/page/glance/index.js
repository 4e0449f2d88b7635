// The views of the vault at a glance. Each is a component of { api, vault, go, rest }: api(name, params, signal) asks the
// server (without one, the views ask themselves), send(name, body) asks it to do something, go(address) follows an address of this page, and rest is what follows the
// view's name in the address: of the note view its path, perhaps with ?line=N. A view with keyOf stays, with its focus, as
// long as keyOf(rest) is the same.
import { Access } from './access.js';
import { Activity } from './activity.js';
import { Base, Bases, partedBase } from './bases.js';
import { Graph } from './graph.js';
import { Note } from './note.js';
import { Problems } from './problems.js';
import { Search } from './search.js';

export { renderTree } from './tree.js';

function baseOf(rest) {
  const { path, block } = partedBase(rest);
  return `${path} ${block}`;
}

// The list for the page's head: "note" and "base" are opened by links, so they are not in the menu.
export const views = [
  { key: 'search', name: 'search', title: 'Search', View: Search, inMenu: true },
  { key: 'graph', name: 'graph', title: 'Graph', View: Graph, inMenu: true },
  { key: 'activity', name: 'activity', title: 'Activity', View: Activity, inMenu: true },
  { key: 'problems', name: 'problems', title: 'Problems', View: Problems, inMenu: true },
  { key: 'bases', name: 'bases', title: 'Bases', View: Bases, inMenu: true },
  { key: 'access', name: 'access', title: 'Access', View: Access, inMenu: true },
  { key: 'base', name: 'base', title: 'Base', View: Base, inMenu: false, keyOf: baseOf },
  { key: 'note', name: 'note', title: 'Note', View: Note, inMenu: false },
];

for (const name of ['glance.css', 'bases.css']) {
  if (document.querySelector(`link[data-glance="${name}"]`)) continue;
  const sheet = document.createElement('link');
  sheet.rel = 'stylesheet';
  sheet.href = new URL(name, import.meta.url).href;
  sheet.dataset.glance = name;
  document.head.append(sheet);
}
