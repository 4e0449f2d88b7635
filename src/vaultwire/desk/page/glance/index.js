// The views of the vault at a glance. Each is a component of { api, vault, go, rest }: api(name, params, signal) asks the
// server (without one, the views ask themselves), go(address) follows an address of this page, and rest is what follows the
// view's name in the address: of the note view its path, perhaps with ?line=N.
import { Activity } from './activity.js';
import { Graph } from './graph.js';
import { Note } from './note.js';
import { Problems } from './problems.js';
import { Search } from './search.js';

export { renderTree } from './tree.js';

// The list for the page's head: "note" is opened by links, so it is not in the menu.
export const views = [
  { key: 'search', name: 'search', title: 'Search', View: Search, inMenu: true },
  { key: 'graph', name: 'graph', title: 'Graph', View: Graph, inMenu: true },
  { key: 'activity', name: 'activity', title: 'Activity', View: Activity, inMenu: true },
  { key: 'problems', name: 'problems', title: 'Problems', View: Problems, inMenu: true },
  { key: 'note', name: 'note', title: 'Note', View: Note, inMenu: false },
];

if (!document.querySelector('link[data-glance]')) {
  const sheet = document.createElement('link');
  sheet.rel = 'stylesheet';
  sheet.href = new URL('glance.css', import.meta.url).href;
  sheet.dataset.glance = '';
  document.head.append(sheet);
}
