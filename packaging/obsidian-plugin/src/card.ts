// One item in the pane: its line in the list, and, while it is open, its differences and what the person can decide.

import { isWaiting, type Desk } from "./desk";
import { count, nameOf, showFacts, showHead, showRows } from "./diff";
import { FileEditor } from "./file_editor";
import type { Action, Choice, Detail, FileDiff, Hunk, Item } from "./messages";

const STATES: Partial<Record<Item["state"], string>> = {
  waiting: "waits for you",
  stale: "waits for you, but the note has changed since",
  withdrawn: "withdrawn by the assistant",
};
const UNDOABLE: Item["state"][] = ["made", "undone in part", "accepted", "accepted as edited"];
const KINDS: Record<Item["kind"], string> = { change: "change", held: "proposal", diff: "proposal" };
const HUNK_STATES: Record<Hunk["state"], string> = { made: "", waiting: "", kept: "kept", undone: "undone" };

const WORDS: Record<Action, string> = { keep: "Keep", unkeep: "Keep no more", undo: "Undo", accept: "Accept", refuse: "Refuse", move_back: "Move it back" };

/** A part of an item that a decision is about: the whole, a file or a hunk. */
interface Part {
  file?: number;
  hunk?: number;
}

export class Card {
  readonly element: HTMLElement;
  isOpen = false;
  detail: Detail | null = null;
  private readonly head: HTMLButtonElement;
  private readonly body: HTMLElement;
  private readonly editors = new Map<number, FileEditor>();
  private reason = "";
  private failure = ""; // why the last decision was not carried out

  constructor(public item: Item, private readonly desk: Desk) {
    this.element = createEl("article");
    this.element.dataset.id = item.id;
    this.element.tabIndex = -1; // a click on its text makes it the one that keys are about
    const name = `vaultwire-${item.id}`; // for screen readers: the buttons of all items have the same words
    this.element.setAttribute("aria-labelledby", name);
    this.head = this.element.createEl("button", { cls: "vaultwire-item", attr: { id: name, "data-key": "item" } });
    this.head.addEventListener("click", () => this.open(!this.isOpen));
    this.body = this.element.createDiv({ cls: "vaultwire-detail" });
    this.showHead();
    this.open(false);
  }

  /** The item as the server has it now. */
  update(item: Item): void {
    if (JSON.stringify(item) === JSON.stringify(this.item)) return;
    this.item = item;
    this.showHead();
    if (this.isOpen) this.desk.show(item.id);
    else this.detail = null;
  }

  open(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.body.hidden = !isOpen;
    this.head.ariaExpanded = String(isOpen);
    this.element.toggleClass("is-open", isOpen);
    if (!isOpen) return;
    if (!this.detail) this.body.setText("Reading…");
    this.desk.show(this.item.id);
  }

  get isEditing(): boolean {
    return this.editors.size > 0;
  }

  focus(): void {
    this.head.focus();
    this.head.scrollIntoView({ block: "nearest" });
  }

  showDetail(detail: Detail): void {
    this.detail = detail;
    this.showBody();
  }

  showText(file: number, text: string): void {
    if (this.detail === null || this.editors.has(file) || !isWaiting(this.item)) return;
    const changed = () => this.showBody();
    const editor = new FileEditor(text, (edited) => this.desk.askPreview(this.item.id, file, edited), changed, () => {
      this.editors.delete(file);
      this.showBody();
      this.focusKey(`edit:${file}`);
    });
    this.editors.set(file, editor);
    this.showBody();
    editor.focus();
  }

  showPreview(file: FileDiff): void {
    this.editors.get(file.index)?.showPreview(file);
  }

  showHunks(more: FileDiff): void {
    const file = this.detail?.files.find(({ index }) => index === more.index);
    const [first] = more.hunks;
    if (!file || !first || file.next_hunk !== first.index) return; // it was read again meanwhile
    file.hunks.push(...more.hunks);
    file.next_hunk = more.next_hunk;
    this.showBody();
    this.focusKey(`hunk:${file.index}:${first.index}`);
  }

  showDecided(words: string, isError: boolean): void {
    this.failure = isError ? words : "";
    if (!isError) this.editors.clear();
    this.showBody();
    if (this.isOpen) this.desk.show(this.item.id);
  }

  showFailed(words: string): void {
    this.failure = words;
    if (this.detail) this.showBody();
    else this.body.setText(words);
  }

  /** Decide about what has the focus: the hunk or the file, or else the item. */
  decideFocused(wants: "yes" | "no"): string {
    const focused = activeDocument.activeElement?.closest<HTMLElement>("[data-part]");
    const part = focused && this.element.contains(focused) ? (JSON.parse(focused.dataset.part ?? "{}") as Part) : {};
    if (!this.isOpen) {
      this.open(true);
      return "Look at it first: it is open now. Press the key once more to decide.";
    }
    if (!this.detail) return "It is still being read.";
    if (isWaiting(this.item)) {
      if (wants === "no") return this.decide("refuse");
      if (part.file !== undefined && this.actions(part).includes("accept")) return this.decide("accept", part);
      return this.isUnseen() ? "Show the difference of what you have edited first." : this.decide("accept");
    }
    const action = wants === "yes" ? "keep" : "undo";
    if (!this.actions(part).includes(action)) return `There is nothing to ${action} here.`;
    return this.decide(action, part);
  }

  /** Edit the file that has the focus, or the first one that can be edited. */
  editFocused(): string {
    if (!this.isOpen) this.open(true);
    const focused = activeDocument.activeElement?.closest<HTMLElement>("[data-file]")?.dataset.file;
    const file = this.detail?.files.find((each) => this.canEdit(each) && (focused === undefined || each.index === Number(focused)));
    if (!file) return isWaiting(this.item) ? "It is still being read, or cannot be edited." : "Only what waits can be edited.";
    this.edit(file);
    return "";
  }

  private edit(file: FileDiff): void {
    const there = this.editors.get(file.index);
    if (there) there.focus();
    else this.desk.askText(this.item.id, file.index);
  }

  private canEdit(file: FileDiff): boolean {
    return isWaiting(this.item) && file.action !== "remove" && (file.kind === "note" || file.kind === "text" || file.kind === "canvas");
  }

  private isUnseen(): boolean {
    return [...this.editors.values()].some((editor) => editor.isUnseen);
  }

  private edited(): Record<string, string> {
    const texts = [...this.editors].flatMap(([file, editor]) => (editor.edited === null ? [] : [[String(file), editor.edited]]));
    return Object.fromEntries(texts) as Record<string, string>;
  }

  // What can be done with a file or a hunk of what waits; with the item, a file or a hunk of a change that was made.
  private actions({ file, hunk }: Part): Action[] {
    const { item, detail } = this;
    if (detail && isWaiting(item)) return this.canAcceptPart(detail, file) ? ["accept"] : [];
    if (!detail || !UNDOABLE.includes(item.state)) return [];
    const hunks = detail.files.find((each) => each.index === file)?.hunks ?? [];
    const state = hunk === undefined ? "" : hunks.find((each) => each.index === hunk)?.state ?? "";
    if (state === "undone") return [];
    const isKept = hunk === undefined ? file === undefined ? item.is_reviewed : hunks.length > 0 && hunks.every((each) => each.state !== "made") : state === "kept";
    return [...(isKept ? [] : ["keep" as const]), ...(detail.can_undo ? ["undo" as const] : [])];
  }

  // Links follow a move, and an undo is one change: such a proposal is accepted as a whole. What is edited is one text.
  private canAcceptPart({ files }: Detail, index?: number): boolean {
    const file = files.find((each) => each.index === index);
    const moves = files.filter(({ action }) => action === "move").length;
    return this.item.kind === "held" && !this.item.undoes.length && (moves === 0 || moves === files.length) && file !== undefined && !file.now && !this.isEditing;
  }

  private decide(action: Action, part: Part = {}): string {
    const choice: Choice = { id: this.item.id, action, ...part };
    const edited = this.edited();
    if (action === "accept" && Object.keys(edited).length) choice.edited = edited;
    if (action === "refuse" && this.reason.trim()) choice.reason = this.reason.trim();
    this.failure = "";
    if (!this.desk.decide(choice)) return "Your last decision on it is still under way.";
    this.element.toggleClass("is-under-way", true);
    return "";
  }

  // ---------------------------------------------------------------- elements

  private showHead(): void {
    const { item } = this;
    this.head.empty();
    this.head.createSpan({ cls: "vaultwire-summary", text: item.summary });
    const state = item.state === "made" && item.is_reviewed ? "kept" : STATES[item.state] ?? item.state;
    const about = [KINDS[item.kind], item.client, timeOf(item.time)].filter((words) => words).join(" · ");
    this.head.createSpan({ cls: `vaultwire-state${isWaiting(item) ? " is-waiting" : ""}`, text: state });
    this.head.createSpan({ cls: "vaultwire-about", text: about });
  }

  // The focus stays where it was: on the same button, or on what it was about if the button has gone.
  private showBody(): void {
    const { detail } = this;
    if (!detail || !this.isOpen) return;
    const focused = activeDocument.activeElement;
    const hadFocus = focused instanceof HTMLElement && this.body.contains(focused);
    const key = hadFocus ? focused.dataset.key ?? "" : "";
    this.element.toggleClass("is-under-way", this.desk.isUnderWay(this.item.id));
    this.body.empty();
    if (this.item.reason) this.body.createDiv({ cls: "vaultwire-told", text: `Reason: ${this.item.reason}` });
    if (detail.conflict) this.body.createDiv({ cls: "vaultwire-notice", text: detail.conflict });
    if (detail.way_back) this.offerWayBack(detail.way_back);
    if (this.failure) this.body.createDiv({ cls: "vaultwire-notice", text: this.failure });
    if (!isWaiting(this.item) && detail.blocked_by.length) {
      this.body.createDiv({ cls: "vaultwire-told", text: `To be undone first, as it depends on this: ${detail.blocked_by.join(", ")}` });
    }
    for (const file of detail.files) this.showFile(file);
    if (this.item.file_count > detail.files.length) {
      const more = this.item.file_count - detail.files.length;
      this.body.createDiv({ cls: "vaultwire-told", text: `${count(more, "more file is", "more files are")} on the desk in the browser.` });
    }
    this.showFooter();
    if (!hadFocus) return;
    if (focused.isConnected) focused.focus(); // a text area, put back
    else this.focusKey(key);
  }

  private offerWayBack(path: string): void {
    const words = "You can move the note back: all links follow, and what was written since stays. ";
    const notice = this.body.createDiv({ cls: "vaultwire-told", text: words });
    this.button(notice, `Move it back to ${path}`, "item:back", this.item.summary, () => void this.decide("move_back"));
  }

  private showFile(file: FileDiff): void {
    const section = this.body.createEl("section", { attr: { "aria-label": nameOf(file), "data-file": String(file.index) } });
    const head = showHead(section, file);
    const part = { file: file.index };
    if ((this.detail?.files.length ?? 0) > 1) {
      section.dataset.part = JSON.stringify(part); // the keys are about the file while one of its buttons has the focus
      this.offer(head, part, `file:${file.index}`, nameOf(file));
    }
    const editor = this.editors.get(file.index);
    if (this.canEdit(file) && !editor) this.button(head, "Edit", `edit:${file.index}`, nameOf(file), () => this.edit(file));
    if (editor) {
      section.append(editor.element);
      return;
    }
    showFacts(section, file);
    if (file.now) {
      const now = section.createDiv({ cls: "vaultwire-hunk" });
      now.createDiv({ cls: "vaultwire-notice", text: "This has changed in the file since the proposal was made:" });
      for (const hunk of file.now.hunks) showRows(now, hunk);
      section.createDiv({ cls: "vaultwire-told", text: "The proposal:" });
    }
    file.hunks.forEach((hunk, place) => this.showHunk(section, file, hunk, place));
    const { next_hunk: next } = file;
    if (next === null) return;
    const words = `Show ${count(file.hunk_count - file.hunks.length, "more hunk", "more hunks")}`;
    this.button(section, words, `more:${file.index}`, nameOf(file), () => this.desk.askHunks(this.item.id, file.index, next));
  }

  private showHunk(section: HTMLElement, file: FileDiff, hunk: Hunk, place: number): void {
    const key = `hunk:${file.index}:${hunk.index}`;
    const [start, lines] = hunk.new_lines ? [hunk.new_start, hunk.new_lines] : [hunk.old_start, hunk.old_lines];
    const where = lines > 1 ? `lines ${start} to ${start + lines - 1}` : `line ${start}`;
    const state = HUNK_STATES[hunk.state];
    const name = `hunk ${place + 1} of ${file.hunk_count}, ${where} of ${nameOf(file)}`;
    const part = { file: file.index, hunk: hunk.index };
    const at = section.createDiv({ cls: `vaultwire-hunk is-${hunk.state}`, attr: {
      "role": "group", "tabindex": "-1", "aria-label": state ? `${name}, ${state}` : name, "data-key": key, "data-part": JSON.stringify(part),
    } });
    showRows(at, hunk);
    const foot = at.createDiv({ cls: "vaultwire-hunk-foot" });
    foot.createSpan({ cls: "vaultwire-hunk-state", text: state });
    // A file of one hunk has the buttons of the item, or its own.
    if (file.hunk_count > 1 && !hunk.is_continued) this.offer(foot, part, key, name);
  }

  private offer(into: HTMLElement, part: Part, key: string, name: string): void {
    for (const action of this.actions(part)) {
      const word = action !== "accept" ? WORDS[action] : part.hunk === undefined ? "Accept this file" : "Accept this";
      this.button(into, word, `${key}:${action}`, name, () => void this.decide(action, part));
    }
  }

  private showFooter(): void {
    const footer = this.body.createEl("footer");
    const { item } = this;
    if (!isWaiting(item)) {
      for (const action of this.actions({})) {
        const button = this.button(footer, WORDS[action], `item:${action}`, item.summary, () => void this.decide(action));
        button.toggleClass("mod-cta", action === "keep");
      }
      return;
    }
    if (this.isUnseen()) footer.createSpan({ cls: "vaultwire-told", text: "Show the difference of what you have edited, then accept it." });
    else {
      const word = Object.keys(this.edited()).length ? "Accept as edited" : "Accept";
      this.button(footer, word, "item:accept", item.summary, () => void this.decide("accept")).addClass("mod-cta");
    }
    this.button(footer, "Refuse", "item:refuse", item.summary, () => void this.decide("refuse"));
    const reason = footer.createEl("input", { attr: {
      "type": "text", "placeholder": "Reason, for the assistant", "aria-label": `Reason to refuse: ${item.summary}`, "data-key": "item:reason",
    } });
    reason.value = this.reason;
    reason.addEventListener("input", () => {
      this.reason = reason.value;
    });
  }

  private button(into: HTMLElement, word: string, key: string, name: string, run: () => void): HTMLButtonElement {
    const button = into.createEl("button", { text: word, attr: { "aria-label": `${word}: ${name}`, "data-key": key } });
    button.addEventListener("click", run);
    return button;
  }

  private focusKey(key: string): void {
    for (let wanted = key; wanted; wanted = wanted.slice(0, Math.max(wanted.lastIndexOf(":"), 0))) {
      const there = this.element.querySelector<HTMLElement>(`[data-key="${wanted}"]`);
      if (!there) continue;
      there.focus();
      return;
    }
    this.head.focus();
  }
}

function timeOf(time: string): string {
  const when = new Date(time);
  const isToday = when.toDateString() === new Date().toDateString();
  return when.toLocaleString(undefined, isToday
    ? { timeStyle: "short" }
    : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}
