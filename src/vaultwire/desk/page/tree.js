// A rendered note, drawn from a tree of elements. Only what is listed here becomes an element; anything else is its text.

import { h } from "./vendor/htm-preact-3.1.1.js";

const TAGS = new Set([
  "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "mark", "hr", "br",
  "table", "thead", "tbody", "tr", "th", "td", "span", "div", "sup", "sub", "section", "dl", "dt", "dd",
]);
const CLASS = /^[a-z][a-z0-9-]*$/;

function draw(node, index) {
  if (typeof node === "string") return node;
  if (Array.isArray(node)) return node.map(draw);
  if (!node || typeof node !== "object") return null;
  const { tag = "", children = [], text } = node;
  const inside = text !== undefined ? String(text) : children.map(draw);
  if (!TAGS.has(tag)) return h("span", { key: index }, inside);
  const props = { key: index };
  const name = node.class ?? node.attrs?.class;
  if (typeof name === "string" && CLASS.test(name)) props.class = name;
  return h(tag, props, inside);
}

export function renderTree(tree) {
  return draw(Array.isArray(tree) ? tree : [tree]);
}

export async function loadTree() {
  return renderTree;
}
