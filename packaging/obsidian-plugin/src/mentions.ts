// Mentions a note, a file or a part of a note to the assistants: from commands and from context menus.

import {
  FileView, MarkdownView, TFile, TFolder,
  type CachedMetadata, type Editor, type MarkdownFileInfo, type Menu, type Plugin, type TAbstractFile,
} from "obsidian";
import type { Lines } from "./messages";
import type { Sight } from "./seen";

const LAST_SAVE = 2000; // milliseconds until the app's cache has what was saved, at the latest
const WHOLE: Lines = { first: 0, last: 0 };

export interface Mentioner {
  isConnected(): boolean;
  mention(filePath: string, lines: Lines): void;
}

export class Mentions {
  constructor(private readonly plugin: Plugin, private readonly sight: Sight, private readonly to: Mentioner) {}

  register(): void {
    const { workspace } = this.plugin.app;
    this.plugin.addCommand({
      id: "tag",
      name: "Mention selection or note to assistant",
      checkCallback: (checking) => this.mentionFront(checking),
    });
    this.plugin.registerEvent(workspace.on("editor-menu", (menu, editor, info) => this.offerPart(menu, editor, info)));
    this.plugin.registerEvent(workspace.on("file-menu", (menu, file) => this.offerFiles(menu, [file])));
    this.plugin.registerEvent(workspace.on("files-menu", (menu, files) => this.offerFiles(menu, files)));
  }

  // What is in front may also be a picture, a PDF or a canvas.
  private mentionFront(checking: boolean): boolean {
    const other = this.plugin.app.workspace.getActiveViewOfType(FileView);
    if (other && !(other instanceof MarkdownView) && other.file) {
      if (!checking) this.to.mention(other.file.path, WHOLE);
      return true;
    }
    const view = this.sight.frontView();
    if (!view?.file) return false;
    if (!checking) void this.mentionSelection(view);
    return true;
  }

  private async mentionSelection(view: MarkdownView): Promise<void> {
    const isSelected = view.getMode() === "source" && view.editor.somethingSelected();
    await this.mentionLines(view, isSelected ? selectedLines(view.editor) : WHOLE);
  }

  private async mentionLines(view: MarkdownView, lines: Lines): Promise<void> {
    if (this.to.isConnected()) await view.save(); // the assistant reads the file
    if (view.file) this.to.mention(view.file.path, lines);
  }

  private offer(menu: Menu, title: string, run: () => void): void {
    if (this.to.isConnected()) menu.addItem((item) => item.setTitle(title).setIcon("at-sign").onClick(run));
  }

  private offerFiles(menu: Menu, files: TAbstractFile[]): void {
    const known = files.filter((file) => file instanceof TFile || (file instanceof TFolder && !file.isRoot()));
    if (!known.length) return;
    this.offer(menu, "Mention to assistant", () => known.forEach((file) => this.to.mention(file.path, WHOLE)));
  }

  // In the menu of an editor: the selection, or the section or block at the cursor.
  private offerPart(menu: Menu, editor: Editor, view: MarkdownView | MarkdownFileInfo): void {
    if (!(view instanceof MarkdownView) || !view.file) return;
    if (editor.somethingSelected()) {
      this.offer(menu, "Mention selection to assistant", () => void this.mentionLines(view, selectedLines(editor)));
    } else if (/^#{1,6}\s/.test(editor.getLine(editor.getCursor().line))) {
      this.offer(menu, "Mention section to assistant", () => void this.mentionPart(view, sectionLines));
    } else if (editor.getLine(editor.getCursor().line).trim()) {
      this.offer(menu, "Mention block to assistant", () => void this.mentionPart(view, blockLines));
    }
  }

  private async mentionPart(view: MarkdownView, find: typeof sectionLines): Promise<void> {
    if (!view.file) return;
    await this.refreshCache(view, view.file);
    const { editor } = view;
    const cache = this.plugin.app.metadataCache.getFileCache(view.file);
    const lines = find(cache, editor.getCursor().line, editor.lineCount());
    await this.mentionLines(view, lines ?? selectedLines(editor)); // the cursor's line, if the app knows no better
  }

  // The app's cache has the lines of what was saved. It saves two seconds after the last key.
  private async refreshCache(view: MarkdownView, file: TFile): Promise<void> {
    const { metadataCache, vault } = this.plugin.app;
    if (view.editor.getValue() === await vault.cachedRead(file)) return;
    const changed = new Promise<void>((resolve) => {
      const heard = metadataCache.on("changed", (of) => {
        if (of !== file) return;
        metadataCache.offref(heard);
        resolve();
      });
      this.plugin.registerEvent(heard);
      window.setTimeout(resolve, LAST_SAVE);
    });
    await view.save();
    await changed;
  }
}

function selectedLines(editor: Editor): Lines {
  const [from, to] = [editor.getCursor("from"), editor.getCursor("to")];
  const last = to.ch === 0 && to.line > from.line ? to.line : to.line + 1; // a line of which nothing is selected is none
  return { first: from.line + 1, last };
}

// The section of the heading in a line: up to the next heading of its level, or a higher one.
function sectionLines(cache: CachedMetadata | null, line: number, lineCount: number): Lines | null {
  const headings = cache?.headings ?? [];
  const heading = headings.find(({ position }) => position.start.line === line);
  if (!heading) return null;
  const next = headings.find(({ level, position }) => position.start.line > line && level <= heading.level);
  return { first: line + 1, last: next ? next.position.start.line : lineCount };
}

// The list item, or else the paragraph, table or other block, that a line belongs to.
function blockLines(cache: CachedMetadata | null, line: number, _lineCount: number): Lines | null {
  const holds = ({ position }: { position: { start: { line: number }; end: { line: number } } }) =>
    position.start.line <= line && line <= position.end.line;
  const block = cache?.listItems?.find(holds) ?? cache?.sections?.find(holds);
  return block ? { first: block.position.start.line + 1, last: block.position.end.line + 1 } : null;
}
