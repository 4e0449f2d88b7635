// What the person sees: the note in front, the cursor, the selection and the open tabs.

import { MarkdownView, type App } from "obsidian";
import { MAX_SELECTED, type Seen, type Spot } from "./messages";

export const NOTHING: Seen = { path: "", text: "", start: [0, 0], end: [0, 0], tabs: [] };

export class Sight {
  private view: MarkdownView | null = null; // the one in front, or the last that was

  constructor(private readonly app: App) {}

  /** The Markdown view in front; while another pane has the focus, a terminal perhaps, the last that was. */
  frontView(): MarkdownView | null {
    const { workspace } = this.app;
    const leaves = workspace.getLeavesOfType("markdown");
    const recent = workspace.getMostRecentLeaf()?.view;
    const front = workspace.getActiveViewOfType(MarkdownView) ?? (recent instanceof MarkdownView ? recent : this.view);
    this.view = leaves.some((leaf) => leaf.view === front) ? front : null; // it may have been closed
    return this.view;
  }

  look(): Seen {
    const view = this.frontView();
    const editor = view?.getMode() === "source" ? view.editor : null;
    const spot = (side: "from" | "to"): Spot => {
      const { line, ch } = editor?.getCursor(side) ?? { line: 0, ch: 0 };
      return [line, ch];
    };
    return {
      path: (view ? view.file : this.app.workspace.getActiveFile())?.path ?? "",
      text: (editor?.getSelection() ?? "").slice(0, MAX_SELECTED),
      start: spot("from"),
      end: spot("to"),
      // From the leaves' states, not their views: tabs not looked at yet have none.
      tabs: this.app.workspace.getLeavesOfType("markdown")
        .map((leaf) => leaf.getViewState().state?.file)
        .filter((file): file is string => typeof file === "string" && file !== ""),
    };
  }
}
