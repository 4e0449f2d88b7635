// Who has access from elsewhere: what people allowed to clients, and connector addresses. Each can be ended here.
import { html, useEffect, useRef, useState } from '../vendor/htm-preact-3.1.1.js';
import { ask, Waiting } from './shared.js';

const DAY = { year: 'numeric', month: 'short', day: 'numeric' };
const day = (seconds) => new Date(seconds * 1000).toLocaleDateString('en', DAY);
const moment = (seconds) => new Date(seconds * 1000).toLocaleString('en', { ...DAY, hour: 'numeric', minute: '2-digit' });

function Grant({ grant, busy, onRevoke }) {
  const [isSure, setSure] = useState(false);
  const sure = useRef(null);
  useEffect(() => { if (isSure) sure.current?.focus(); }, [isSure]);
  const title = grant.person ? `${grant.person} through ${grant.client}` : 'Connector address';
  return html`<li data-grant=${grant.id}>
    <h4>${title}</h4>
    ${grant.calls_itself && html`<p class="g-quiet">It calls itself “${grant.calls_itself}”.</p>`}
    <p>${grant.writes ? 'Reads and changes notes' : 'Reads notes'}: ${grant.notes.join('; ')}</p>
    <p class="g-quiet">Since ${day(grant.since)}, ${grant.until === null ? 'until revoked' : `until ${day(grant.until)}`}. Last used ${moment(grant.used)}.</p>
    <div class="g-buttons">${isSure ? html`
      <button type="button" ref=${sure} aria-disabled=${busy} aria-label=${`Revoke now: ${title}`} onClick=${() => !busy && onRevoke(grant)}>Revoke now</button>
      <button type="button" onClick=${() => setSure(false)}>Leave it</button>` : html`
      <button type="button" aria-label=${`Revoke ${title}`} onClick=${() => setSure(true)}>Revoke…</button>`}</div>
  </li>`;
}

// The address is only in this page's memory: leaving the view forgets it.
function Connector({ mayWrite, busy, address, onMake }) {
  const [write, setWrite] = useState(false);
  const [said, setSaid] = useState('');
  const field = useRef(null);
  const copy = () => navigator.clipboard.writeText(address).then(() => setSaid('Copied.'), () => {
    field.current.select();
    setSaid('The browser does not allow copying: it is selected.');
  });
  useEffect(() => {
    setSaid('');
    if (address) field.current.focus();
  }, [address]);
  return html`<h3>Connector addresses</h3>
    <p>For a client whose sign-in fails. Everybody who has such an address may use it, until you revoke it.</p>
    ${mayWrite && html`<label class="g-check"><input type="checkbox" checked=${write} onChange=${(event) => setWrite(event.target.checked)} /> It may change notes, too</label>`}
    <div class="g-buttons"><button type="button" aria-disabled=${busy} onClick=${() => !busy && onMake(write)}>Make a connector address</button></div>
    ${address && html`<div class="g-once">
      <label for="g-connector">The new address. It is shown only now; nobody can see it again.</label>
      <textarea id="g-connector" ref=${field} readonly rows="3" spellcheck=${false} autocomplete="off" value=${address} onFocus=${(event) => event.target.select()}></textarea>
      ${navigator.clipboard && html`<div class="g-buttons"><button type="button" onClick=${copy}>Copy</button></div>`}
      <p role="status">${said}</p></div>`}`;
}

export function Access({ api, send }) {
  const [state, setState] = useState({ data: null, address: '', said: '', error: '', busy: false });
  const patch = (change) => setState((now) => ({ ...now, ...change }));
  const load = (change = {}) => (api ?? ask)('grants').then(
    (data) => patch({ data, error: '', busy: false, ...change }),
    (error) => patch({ error: error.message, busy: false, ...change }),
  );
  const act = (name, body, change) => {
    patch({ busy: true, error: '', said: '' });
    return send(name, body).then((answer) => load(change(answer)), (error) => load({ error: error.message }));
  };
  useEffect(() => { load(); }, []);
  const { data, address, said, error, busy } = state;
  return html`<section class="glance" aria-labelledby="g-access-title">
    <h2 id="g-access-title">Access from elsewhere</h2>
    ${data === null ? html`<${Waiting} error=${error} what="what people allowed" />` : html`
      <p role="status">${said}</p>
      ${error && html`<p class="g-error" role="alert">${error}</p>`}
      ${data.grants.length === 0 ? html`<p>Nobody has access: no person allowed a client anything${data.has_connectors ? ', and there is no connector address' : ''}.</p>`
        : html`<ul class="g-list g-grants">${data.grants.map((grant) => html`<${Grant} key=${grant.id} grant=${grant} busy=${busy}
          onRevoke=${() => act('revoke', { id: grant.id }, ({ revoked }) => ({ said: `Revoked: ${revoked}. The server refuses it from now on.`, address: '' }))} />`)}</ul>`}
      ${data.has_connectors && html`<${Connector} mayWrite=${data.may_write} busy=${busy} address=${address}
        onMake=${(write) => act('connector', { write }, (made) => ({ address: made.address }))} />`}`}
  </section>`;
}
