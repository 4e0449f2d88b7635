// A proposal with the person's own words: a text, then what it would write as a diff, and only then the writing.

import { Act, canEdit } from "./acting.js";
import { get, post } from "./api.js";
import { FileDiff } from "./diff.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact-3.1.1.js";
import { baseName, nameOf, plain } from "./words.js";

// A text area turns each line end into \n. Where every line ended with \r\n, the edited text does again.
export function withLineEnds(original, edited) {
  const all = (original.match(/\n/g) ?? []).length;
  const windows = (original.match(/\r\n/g) ?? []).length;
  return all > 0 && all === windows ? edited.replace(/\r?\n/g, "\r\n") : edited;
}

export function Editing({ desk, state, item }) {
  const files = item.files.filter(canEdit);
  const [index, setIndex] = useState(files[0]?.index);
  const [texts, setTexts] = useState({}); // as proposed, by file; where the note has other lines by now, with both
  const [overlaps, setOverlaps] = useState({});
  const basis = useRef(""); // what the texts were made from: if that changes, nothing is accepted
  const [preview, setPreview] = useState(null);
  const [fault, setFault] = useState("");
  const [, redraw] = useState(0);
  const area = useRef(null);
  const draftKey = (file) => `${state.vault}\n${item.id}\n${file}`;
  const drafts = () => Object.fromEntries(files.map((file) => [file.index, desk.drafts.get(draftKey(file.index))]).filter(([, text]) => text !== undefined));
  useEffect(() => {
    if (index === undefined || texts[index] !== undefined) return;
    get("text", { vault: state.vault, id: item.id, file: index }).then((answer) => {
      basis.current ||= answer.basis;
      if (answer.overlaps.length && !desk.drafts.has(draftKey(index))) desk.drafts.set(draftKey(index), answer.text);
      setOverlaps((known) => ({ ...known, [index]: answer.overlaps }));
      setTexts((known) => ({ ...known, [index]: answer.text }));
    }).catch((error) => setFault(error.message));
  }, [index]);
  useEffect(() => { area.current?.focus(); }, [index, texts[index] !== undefined, preview === null]);
  const leave = () => desk.set({ editing: null });
  const type = (event) => {
    const original = texts[index].replace(/\r\n/g, "\n");
    if (event.target.value === original && !overlaps[index]?.length) desk.drafts.delete(draftKey(index));
    else desk.drafts.set(draftKey(index), event.target.value);
    redraw((n) => n + 1);
  };
  const edited = () => Object.fromEntries(Object.entries(drafts()).map(([file, text]) => [file, withLineEnds(texts[file] ?? "", text)]));
  const look = async () => {
    setFault("");
    try {
      const changed = edited();
      const answers = await Promise.all(files.map((file) => (file.index in changed
        ? post("preview", { vault: state.vault, id: item.id, file: file.index, text: changed[file.index] }).then((answer) => ({ ...answer.file, index: file.index }))
        : file)));
      setPreview(answers);
      document.getElementById("right")?.scrollTo({ top: 0 });
    } catch (error) {
      setFault(error.message);
    }
  };
  const accept = async () => {
    const done = await desk.decide({ id: item.id, action: "accept", edited: edited(), basis: basis.current });
    if (!done) return;
    for (const file of files) desk.drafts.delete(draftKey(file.index));
    leave();
    await desk.showWaiting();
  };
  const discard = () => {
    for (const file of files) desk.drafts.delete(draftKey(file.index));
    leave();
  };
  const hasDraft = Object.keys(drafts()).length > 0;
  const name = nameOf(item.id);
  return html`<article class="item editing" aria-label=${`Edit ${name}`} onKeyDown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !preview) look(); }}>
    <div class="toolbar" role="toolbar" aria-label=${`Edit ${name}`}>
      <button type="button" onClick=${preview ? () => setPreview(null) : leave}>${preview ? "Edit further" : "Back to the proposal"}</button>
      <span class="decide">
        <${Act} key="accept" desk=${desk} state=${state} words="Accept as edited" name=${`Accept as edited ${name}`} about=${`${item.id} accept edited`} primary=${Boolean(preview)} off=${!preview || !hasDraft} writes=${true} onAct=${accept} />
        <button key="look" type="button" class=${preview ? "" : "primary"} aria-disabled=${Boolean(preview)} onClick=${() => { if (!preview) look(); }}>Show what will be written</button>
        <button type="button" class="quiet" data-decides=${`${item.id} discard`} onClick=${discard}>Discard my edits</button></span></div>
    <h2>${preview ? "What will be written" : "Edit the proposal"}</h2>
    <p class="muted">${preview ? "Nothing is written before you accept it." : "Type the text of the note as it should be. You see what will be written before it is written (Ctrl+Enter)."}</p>
    ${!preview && (overlaps[index] ?? []).length > 0 && html`<p class="notice">The text has both versions of the lines that differ, those of the note first: ${overlaps[index].map(([first, last], at) => html`${at ? ", " : ""}line ${first === last ? first : `${first} to ${last}`}`)}. Leave what should be there.</p>`}
    ${fault && html`<p class="notice" role="alert">${fault}</p>`}
    ${preview
      ? preview.map((file) => html`<${FileDiff} key=${file.index} desk=${desk} state=${{ ...state, view: "source" }} item=${item} file=${file} isOnly=${true} />`)
      : html`${files.length > 1 && html`<label class="which">File <select value=${String(index)} onChange=${(event) => setIndex(Number(event.target.value))}>
          ${files.map((file) => html`<option key=${file.index} value=${String(file.index)}>${plain(file.to ?? file.path)}</option>`)}</select></label>`}
        ${texts[index] === undefined ? html`<p class="empty">Loading…</p>` : html`<textarea ref=${area} key=${index} spellcheck="true" aria-label=${`New text of ${baseName(files.find((file) => file.index === index)?.path)}`}
          value=${desk.drafts.get(draftKey(index)) ?? texts[index]} onInput=${type}></textarea>`}`}
  </article>`;
}
