// Lets the person edit the proposed text of one file. What would be written is shown as a difference before it is accepted.

import { showFacts, showRows } from "./diff";
import type { FileDiff } from "./messages";

export class FileEditor {
  readonly element: HTMLElement;
  isUnseen = false; // edited, and the difference was not shown since
  private readonly area: HTMLTextAreaElement;
  private readonly shown: HTMLElement;
  private readonly show: HTMLButtonElement;
  private readonly first: string;
  private readonly isCrlf: boolean; // a text area drops carriage returns

  constructor(text: string, preview: (text: string) => void, private readonly changed: () => void, cancel: () => void) {
    this.isCrlf = text.includes("\r\n");
    this.element = createDiv({ cls: "vaultwire-editor" });
    this.area = this.element.createEl("textarea", { attr: { "aria-label": "The note's new text", "spellcheck": "false" } });
    this.area.value = text;
    this.first = this.area.value;
    this.shown = this.element.createDiv();
    this.shown.hidden = true;
    const row = this.element.createDiv({ cls: "vaultwire-editor-foot" });
    this.show = row.createEl("button", { text: "Show the difference" });
    this.show.addEventListener("click", () => {
      if (this.shown.hidden) preview(this.text());
      else this.back();
    });
    row.createEl("button", { text: "Discard my edits" }).addEventListener("click", cancel);
    this.area.addEventListener("input", () => {
      const isUnseen = this.area.value !== this.first;
      if (isUnseen === this.isUnseen) return;
      this.isUnseen = isUnseen;
      this.changed();
    });
  }

  /** The text as edited; null if it is as it was proposed. */
  get edited(): string | null {
    return this.area.value === this.first ? null : this.text();
  }

  focus(): void {
    if (this.shown.hidden) this.area.focus();
    else this.show.focus();
  }

  showPreview(file: FileDiff): void {
    this.shown.empty();
    showFacts(this.shown, file);
    for (const hunk of file.hunks) showRows(this.shown, hunk);
    if (!file.hunks.length) this.shown.createDiv({ cls: "vaultwire-told", text: "With your edits, the note stays as it is." });
    this.shown.hidden = false;
    this.area.hidden = true;
    this.show.setText("Edit");
    this.isUnseen = false;
    this.changed();
    this.show.focus();
  }

  private back(): void {
    this.shown.hidden = true;
    this.area.hidden = false;
    this.show.setText("Show the difference");
    this.area.focus();
  }

  private text(): string {
    return this.isCrlf ? this.area.value.replace(/\n/g, "\r\n") : this.area.value;
  }
}
