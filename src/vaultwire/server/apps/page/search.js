// Search results; another search from here is a call of the same tool.

import { Search } from "../../../desk/page/glance/search.js";
import { html } from "../../../desk/page/vendor/htm-preact-3.1.1.js";
import { callTool } from "./app_host.js";
import { dataOf, start, vaultOf } from "./frame.js";

const EMPTY = { notes: [], total: 0, is_exact: true, problem: "", hints: [] };

function View({ data }) {
  const ask = async (_, { q }) => {
    if (q === data.search.query) return data.search;
    if (!q.trim()) return { ...EMPTY, query: q };
    return dataOf(await callTool("search_notes", { query: q, ...vaultOf(data) }))?.search ?? EMPTY;
  };
  return html`<${Search} key=${data.search.query} api=${ask} vault="" query=${data.search.query} />`;
}

start(View, ["search"]);
