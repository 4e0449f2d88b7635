// What the views share: asking the server, links, and what is shown while an answer is awaited or failed.
import { html, useEffect, useState } from '../vendor/htm-preact-3.1.1.js';

export async function ask(name, params = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(params).map(([key, value]) => [key, String(value)]));
  const response = await fetch(`api/${name}?${query}`, { credentials: 'same-origin', redirect: 'error', signal });
  const body = await response.json().catch(() => null);
  if (!response.ok || body === null) throw new Error(body?.error?.message ?? `The server answered with status ${response.status}.`);
  return body;
}

// Asks again when a parameter changes; a late answer to an earlier question is dropped.
export function useAnswer(api, name, params, wait = 0) {
  const [state, setState] = useState({ data: null, error: '' });
  const key = JSON.stringify([name, params]);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      (api ?? ask)(name, params, stop.signal)
        .then((data) => { if (!stop.signal.aborted) setState({ data, error: '' }); })
        .catch((error) => { if (!stop.signal.aborted) setState({ data: null, error: error.message }); });
    }, wait);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [key]);
  return state;
}

export function Waiting({ error, what }) {
  if (error) return html`<p class="g-error" role="alert">${error}</p>`;
  return html`<p class="g-quiet" role="status">Loading ${what}…</p>`;
}

export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

// As note_address in review/glance/addresses.py.
const quote = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
export const noteAddress = (vault, path) => `#/${quote(vault)}/note/${path.split('/').map(quote).join('/')}`;
export const viewAddress = (vault, view) => `#/${quote(vault)}/${view}`;
export const pictureAddress = (vault, path) => `api/picture?${new URLSearchParams({ vault, path })}`;
export const leaf = (path) => path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '');
