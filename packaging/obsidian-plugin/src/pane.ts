// The side pane: what assistants changed and what waits for the person, as on the desk in the browser.

import { ItemView, type WorkspaceLeaf } from "obsidian";
import { Card } from "./card";
import type { Desk, DeskView } from "./desk";
import { count } from "./diff";
import type { Detail, FileDiff } from "./messages";

export const CHANGES = "vaultwire-changes";

const KEYS = "Keys: j, k next, previous · n, p next, previous hunk · a keep or accept · x undo or refuse · u undo my last action · e edit";

export class ChangesView extends ItemView implements DeskView {
  private readonly cards = new Map<string, Card>();
  private words!: HTMLElement;
  private news!: HTMLButtonElement;
  private list!: HTMLElement;
  private said!: HTMLElement;
  private armed: Element | null = null; // the button to which the pointer has been moved
  private isPointed = false; // whether the pointer is in the pane

  constructor(leaf: WorkspaceLeaf, private readonly desk: Desk, private readonly isConnected: () => boolean) {
    super(leaf);
  }

  getViewType(): string {
    return CHANGES;
  }

  getDisplayText(): string {
    return "Changes by assistants";
  }

  getIcon(): string {
    return "file-diff";
  }

  async onOpen(): Promise<void> {
    const { contentEl } = this;
    contentEl.addClass(CHANGES);
    contentEl.tabIndex = -1;
    const head = contentEl.createDiv({ cls: "vaultwire-head" });
    this.words = head.createEl("p");
    this.news = head.createEl("button", { cls: "vaultwire-news" });
    this.news.addEventListener("click", () => this.showAll());
    this.list = contentEl.createDiv({ cls: "vaultwire-list" });
    contentEl.createEl("p", { cls: "vaultwire-keys", text: `What waits is not written before you accept it. ${KEYS}` });
    // Below all others: words of another length must move no button.
    this.said = contentEl.createDiv({ cls: "vaultwire-said", attr: { role: "status" } });
    this.guardPointer();
    this.registerDomEvent(contentEl, "keydown", (event) => this.press(event));
    this.desk.views.add(this);
    this.showItems();
  }

  async onClose(): Promise<void> {
    this.desk.views.delete(this);
  }

  // A click counts only if the pointer was moved to the button that is there now. The second click of a double click, and a
  // click on what a new layout has put under the pointer, decide nothing.
  private guardPointer(): void {
    const { contentEl } = this;
    const arm = (event: PointerEvent) => {
      this.isPointed = event.pointerType !== "touch";
      this.armed = event.target instanceof Element ? event.target.closest("button") : null;
    };
    this.registerDomEvent(contentEl, "pointermove", arm);
    this.registerDomEvent(contentEl, "pointerdown", (event) => {
      if (event.pointerType === "touch") arm(event); // a finger moves nowhere before it touches
    });
    this.registerDomEvent(contentEl, "pointerleave", () => {
      this.isPointed = false;
      for (const { element } of this.cards.values()) element.setCssStyles({ minHeight: "" });
      this.showItems();
    });
    this.registerDomEvent(contentEl, "click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (!button || event.detail === 0) return; // by a key
      if (event.detail > 1 || this.armed !== button) event.stopPropagation();
      this.armed = null;
    }, true);
  }

  // ---------------------------------------------------------------- what the server says

  showItems(): void {
    const { items } = this.desk;
    const ids = new Set(items.map(({ id }) => id));
    for (const [id, card] of this.cards) if (!ids.has(id)) this.remove(id, card);
    const fresh = items.filter(({ id }) => !this.cards.has(id));
    for (const item of items) this.cards.get(item.id)?.update(item);
    // New items would push the others down, and a button of another one could come under the pointer.
    const isHeld = this.isPointed && this.cards.size > 0 && fresh.length > 0;
    if (!isHeld) this.place();
    this.news.setText(`Show ${fresh.length} new`);
    this.news.toggleClass("is-offered", isHeld);
    this.words.setText(this.summary());
  }

  showDetail(detail: Detail): void {
    this.change(detail.id, (card) => card.showDetail(detail));
  }

  showText(id: string, file: number, text: string): void {
    this.change(id, (card) => card.showText(file, text));
  }

  showPreview(id: string, file: FileDiff): void {
    this.change(id, (card) => card.showPreview(file));
  }

  showHunks(id: string, file: FileDiff): void {
    this.change(id, (card) => card.showHunks(file));
  }

  showDecided(id: string, words: string, isError: boolean): void {
    this.say(words);
    this.change(id, (card) => card.showDecided(words, isError));
  }

  showFailed(id: string, words: string): void {
    this.say(words);
    this.change(id, (card) => card.showFailed(words));
  }

  private summary(): string {
    if (!this.isConnected()) return "Vaultwire is not running.";
    const { items, waiting } = this.desk;
    if (waiting) return `${count(waiting, "item waits", "items wait")} for you.`;
    return items.length ? "Nothing waits for you." : "Nothing was changed yet.";
  }

  // While the pointer is in the pane, an item gets no smaller, so that no button of another one comes under the pointer.
  private change(id: string, show: (card: Card) => void): void {
    const card = this.cards.get(id);
    if (!card) return;
    const { height } = card.element.getBoundingClientRect();
    if (this.isPointed && card.isOpen && height) card.element.setCssStyles({ minHeight: `${height}px` });
    show(card);
  }

  private remove(id: string, card: Card): void {
    if (card.isEditing && this.isConnected()) return; // what the person types stays
    const hadFocus = card.element.contains(activeDocument.activeElement);
    const next = card.element.nextElementSibling ?? card.element.previousElementSibling;
    card.element.remove();
    this.cards.delete(id);
    if (!hadFocus) return;
    const neighbour = [...this.cards.values()].find(({ element }) => element === next);
    if (neighbour) neighbour.focus();
    else this.contentEl.focus();
  }

  // The latest first. Items that are there keep their elements: the person may be editing one.
  private place(): void {
    let before: Element | null = this.list.firstElementChild;
    for (const item of this.desk.items) {
      let card = this.cards.get(item.id);
      if (!card) {
        card = new Card(item, this.desk);
        this.cards.set(item.id, card);
      }
      if (card.element === before) before = before.nextElementSibling;
      else if (!card.element.isConnected) this.list.insertBefore(card.element, before);
    }
  }

  private showAll(): void {
    this.place();
    this.news.toggleClass("is-offered", false);
    this.contentEl.focus();
  }

  private say(words: string): void {
    this.said.setText(words);
  }

  // ---------------------------------------------------------------- keys

  /** Open the first item that waits, or the latest, and give it the focus. Only at the person's wish. */
  begin(): void {
    this.showAll();
    const waiting = this.desk.items.find(({ state }) => state === "waiting" || state === "stale");
    const card = this.cards.get((waiting ?? this.desk.items[0])?.id ?? "");
    if (card) this.go(card);
    else this.contentEl.focus();
  }

  private press(event: KeyboardEvent): void {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) {
      if (event.key === "Escape") this.current()?.focus();
      return;
    }
    if (event.repeat && event.key !== "j" && event.key !== "k") return; // a key held down decides once
    const run = this.key(event.key);
    if (!run) return;
    event.preventDefault();
    this.say(run() ?? "");
  }

  private key(key: string): (() => string | void) | undefined {
    const card = this.current();
    const nothing = "No item is chosen: press j.";
    return {
      j: () => this.step(1),
      k: () => this.step(-1),
      n: () => this.stepHunk(1),
      p: () => this.stepHunk(-1),
      a: () => card?.decideFocused("yes") ?? nothing,
      x: () => card?.decideFocused("no") ?? nothing,
      u: () => this.desk.undoLast(),
      e: () => card?.editFocused() ?? nothing,
    }[key];
  }

  private current(): Card | undefined {
    return [...this.cards.values()].find(({ element }) => element.contains(activeDocument.activeElement));
  }

  private ordered(): Card[] {
    return [...this.list.children].flatMap((element) => {
      const card = [...this.cards.values()].find((each) => each.element === element);
      return card ? [card] : [];
    });
  }

  private step(by: number): string {
    const cards = this.ordered();
    const current = this.current();
    const place = current ? cards.indexOf(current) + by : by > 0 ? 0 : cards.length - 1;
    const card = cards[place];
    if (!card) return by > 0 ? "This is the last one." : "This is the first one.";
    if (current && !current.isEditing) current.open(false);
    this.go(card);
    return "";
  }

  private go(card: Card): void {
    if (!card.isOpen) card.open(true);
    card.focus();
  }

  private stepHunk(by: number): string {
    const card = this.current();
    const hunks = card ? [...card.element.querySelectorAll<HTMLElement>(".vaultwire-hunk")] : [];
    const place = hunks.findIndex((hunk) => hunk.contains(activeDocument.activeElement));
    const hunk = hunks[place < 0 ? (by > 0 ? 0 : hunks.length - 1) : place + by];
    if (!hunk) return hunks.length ? "This item has no further hunk." : "No hunk is shown.";
    hunk.focus();
    hunk.scrollIntoView({ block: "nearest" });
    return "";
  }
}
