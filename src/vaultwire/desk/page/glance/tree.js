// Builds preact vnodes from a rendered note: the tree of review/glance/rendering.py, which is checked there. The same list
// of elements, attributes and addresses is applied here a second time. Text is always a text node.
import { h } from '../vendor/htm-preact-3.1.1.js';

const ELEMENTS = new Set(
  ('a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr li mark ol p pre section span strong sub sup table tbody ' +
    'td th thead tr ul').split(' '),
);
const CLASSES = new Set(
  ('attachment block-math box changed callout callout-title embed footnote footnotes math missing note outside-picture properties ' +
    'rest tag task').split(' '),
);
const MOST_NODES = 25000;
const DEEPEST = 80;
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\\]/;
const OUTSIDE = /^(?:https?:\/\/[^/]|mailto:)/i;
const IN_APP = /^obsidian:\/\/open\/?\?(?:vault|file)=[^&#]*(?:&(?:vault|file)=[^&#]*)?$/;
const BASE = /^#\/[A-Za-z0-9%._~-]+\/base\/[A-Za-z0-9%._~/-]+(?:\?(?:view|block|this)=[A-Za-z0-9%._~-]+(?:&(?:view|block|this)=[A-Za-z0-9%._~-]+){0,2})?$/;
const NOTE = /^#\/[A-Za-z0-9%._~-]+\/note\/[A-Za-z0-9%._~/-]+(?:\?line=[0-9]{1,9})?$/;

export function isAllowedAddress(address) {
  return typeof address === 'string' && address.length <= 4000 && !UNSAFE.test(address) &&
    (OUTSIDE.test(address) || IN_APP.test(address) || NOTE.test(address) || BASE.test(address));
}

function propsOf(name, given) {
  const props = {};
  if (given === null || typeof given !== 'object') return props;
  if (name === 'a' && isAllowedAddress(given.href)) {
    props.href = given.href;
    if (!given.href.startsWith('#')) {
      props.rel = 'noopener noreferrer';
      props.target = '_blank';
    }
  }
  if (CLASSES.has(given.class)) props.class = given.class;
  for (const key of ['title', 'data-callout', 'data-mark']) if (typeof given[key] === 'string') props[key] = given[key];
  for (const key of ['start', 'data-line']) if (Number.isInteger(given[key])) props[key] = given[key];
  return props;
}

export function renderTree(tree) {
  let left = MOST_NODES;
  // Headings of the page come first: a note's own headings begin one level below.
  const lower = (name) => (/^h[1-5]$/.test(name) ? `h${Number(name[1]) + 1}` : name);
  const build = (nodes, depth) => {
    if (!Array.isArray(nodes) || depth > DEEPEST) return [];
    const built = [];
    for (const node of nodes) {
      left -= 1;
      if (left < 0) break;
      if (typeof node === 'string') built.push(node);
      else if (Array.isArray(node) && node.length === 3) {
        const [name, attributes, children] = node;
        const inner = build(children, depth + 1);
        if (typeof name === 'string' && ELEMENTS.has(name)) {
          built.push(h(lower(name), propsOf(name, attributes), name === 'br' || name === 'hr' ? null : inner));
        } else built.push(...inner);
      }
    }
    return built;
  };
  return build(tree, 0);
}
