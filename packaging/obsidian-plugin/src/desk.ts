// What the server says that was changed and what waits, and what the person decided. It has no elements.

import type { Action, Choice, Detail, FileDiff, Item, Message } from "./messages";

export interface DeskView {
  /** Show the items as they are now. */
  showItems(): void;
  showDetail(detail: Detail): void;
  showText(id: string, file: number, text: string): void;
  showPreview(id: string, file: FileDiff): void;
  /** Show further hunks of a file that is shown. */
  showHunks(id: string, file: FileDiff): void;
  /** Say what came of a decision; the item may show buttons again. */
  showDecided(id: string, words: string, isError: boolean): void;
  /** Say why something could not be shown. */
  showFailed(id: string, words: string): void;
}

export const isWaiting = (item: Pick<Item, "state">): boolean => item.state === "waiting" || item.state === "stale";

const CANNOT_UNDO: Partial<Record<Action, string>> = {
  refuse: "A refusal cannot be undone: the assistant is told of it.",
};

export class Desk {
  items: Item[] = [];
  waiting = 0;
  readonly views = new Set<DeskView>();
  private readonly underWay = new Map<string, Choice>(); // by id: decided here, and not answered yet
  private readonly done: { choice: Choice; undo: number | null }[] = []; // what can be undone, the latest last

  constructor(private readonly send: (message: object) => void) {}

  receive(message: Message): void {
    if (message.type === "items") {
      [this.items, this.waiting] = [message.items, message.waiting];
      this.each((view) => view.showItems());
    } else if (message.type === "item") this.each((view) => view.showDetail(message.item));
    else if (message.type === "text") this.each((view) => view.showText(message.id, message.file, message.text));
    else if (message.type === "preview") this.each((view) => view.showPreview(message.id, message.file));
    else if (message.type === "hunks") this.each((view) => view.showHunks(message.id, message.file));
    else if (message.type === "decided") this.answered(message);
  }

  /** The connection has ended: what was not answered may or may not have been done; the next list says. */
  clear(): void {
    this.items = [];
    this.waiting = 0;
    this.underWay.clear();
    this.done.length = 0;
    this.each((view) => view.showItems());
  }

  item(id: string): Item | undefined {
    return this.items.find((item) => item.id === id);
  }

  show(id: string): void {
    this.send({ type: "show", id });
  }

  askText(id: string, file: number): void {
    this.send({ type: "text", id, file });
  }

  askPreview(id: string, file: number, text: string): void {
    this.send({ type: "preview", id, file, text });
  }

  askHunks(id: string, file: number, from: number): void {
    this.send({ type: "hunks", id, file, from });
  }

  isUnderWay(id: string): boolean {
    return this.underWay.has(id);
  }

  /** Send a decision; false if one on this item is under way, so that nothing is decided twice. */
  decide(choice: Choice): boolean {
    if (this.underWay.has(choice.id)) return false;
    this.underWay.set(choice.id, choice);
    this.send({ type: "decide", ...choice });
    return true;
  }

  /** Undo what was decided here last; return words if that cannot be. */
  undoLast(): string {
    const last = this.done.pop();
    if (!last) return "There is nothing to undo: you have decided nothing here.";
    const { id, action, ...part } = last.choice;
    const cannot = CANNOT_UNDO[action];
    if (cannot) return cannot;
    if (action === "keep" || action === "unkeep") {
      this.decide({ id, action: action === "keep" ? "unkeep" : "keep", ...part });
      return "";
    }
    const made = last.undo ?? this.madeBy(id, action);
    if (made === null) return "What you did last is not in this list any more. The desk in the browser has it.";
    this.decide({ id: `c${made}`, action: "undo" });
    return "";
  }

  // The change that an undo or an acceptance has made.
  private madeBy(id: string, action: Action): number | null {
    if (action === "accept") return this.item(id)?.change ?? null;
    const number = Number(id.slice(1));
    const undoing = this.items.find((item) => item.undoes.includes(number));
    return undoing ? Number(undoing.id.slice(1)) : this.item(id)?.undone_by ?? null;
  }

  private answered({ id, message, error, undo }: Extract<Message, { type: "decided" }>): void {
    const choice = this.underWay.get(id);
    this.underWay.delete(id);
    if (choice && !error) this.done.push({ choice, undo: undo ?? null });
    this.each((view) => {
      if (choice) view.showDecided(id, message, error);
      else view.showFailed(id, message);
    });
  }

  private each(call: (view: DeskView) => void): void {
    for (const view of this.views) call(view);
  }
}
