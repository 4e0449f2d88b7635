// Tells a vaultwire server on this computer what the person sees, and shows what it asks to be shown. It reads one file
// outside the vault, talks to this computer alone, and writes no note.
//
// main.ts is the source. main.js is made from it by the TypeScript compiler and is not edited.

import { EditorView } from "@codemirror/view";
import { createHash } from "crypto";
import { readFileSync, realpathSync } from "fs";
import {
  FileSystemAdapter, ItemView, MarkdownView, Menu, Notice, Plugin, TFile, debounce,
  type CachedMetadata, type Editor, type MarkdownFileInfo, type WorkspaceLeaf,
} from "obsidian";
import { homedir } from "os";
import * as path from "path";

const VERSION = 1; // of the messages, as in desk/plugin_endpoint.py, which says what they are
const CHANGES = "vaultwire-changes";
const QUIET = 50; // milliseconds without a change before it is told
const MAX_SELECTED = 100_000; // characters; the server cuts there too
const [FIRST_WAIT, LAST_WAIT] = [1000, 30_000]; // milliseconds between attempts to connect
const MAX_NAME = 40; // characters of a note's name in the status bar
const LAST_SAVE = 2000; // milliseconds until the app's cache has what was saved, at the latest
const LASTING = 0; // the duration of a notice that stays until it is clicked

const NO_ASSISTANT = "No assistant is connected. In Claude Code, type /ide and choose Obsidian.";
const NOT_RUNNING = "Vaultwire is not running. Start it with: vaultwire ide --vault PATH";
const OTHER_VERSION = "Vaultwire has changed: run vaultwire plugin install, and turn the plugin off and on again.";
const LOST = "Vaultwire is not connected any more. Nothing was written.";
const PRIVATE = "Your policy keeps this note private.";

interface Change {
  id: string;
  path: string;
  label: string;
  new: string;
  lines: [kind: string, text: string][];
}

interface Link {
  port: number;
  token: string;
  answer: string;
}

type Message =
  | { type: "hello"; version: number; answer: string }
  | { type: "changes"; changes: Change[] }
  | { type: "open"; path: string; line: number }
  | { type: "shared"; clients: string[]; path: string }
  | { type: "mentioned"; outcome: string };

/** A position in a note: line and character, from 0. */
type Spot = [line: number, character: number];

interface Seen {
  path: string;
  text: string;
  start: Spot;
  end: Spot;
  tabs: string[];
}

const NOTHING: Seen = { path: "", text: "", start: [0, 0], end: [0, 0], tabs: [] };

/** What is mentioned: lines from 1, 0 for the whole file. */
interface Lines {
  first: number;
  last: number;
}

// Where the server of a vault says how to reach it. The recipe is `endpoint_path` in transports/lock_file.py, below the
// state folder of config.py (`_user_state`): <state>/editor/plugin-<16 digits of the SHA-256 of the vault's real path>.json.
export function linkPlace(vault: string, env = process.env, platform: string = process.platform, home = homedir()): string {
  const paths = platform === "win32" ? path.win32 : path.posix;
  const real = platform === "win32" ? realpathSync.native(vault) : realpathSync(vault);
  const name = createHash("sha256").update(real).digest("hex").slice(0, 16);
  // A Flatpak gives its app a state folder of its own; the server's is outside.
  const xdg = (env.FLATPAK_ID ? env.HOST_XDG_STATE_HOME : env.XDG_STATE_HOME) || "";
  let state = paths.join(paths.isAbsolute(xdg) ? xdg : paths.join(home, ".local", "state"), "vaultwire");
  if (platform === "darwin") state = paths.join(home, "Library", "Application Support", "vaultwire");
  if (platform === "win32") state = paths.join(env.LOCALAPPDATA || paths.join(home, "AppData", "Local"), "vaultwire-state");
  if (env.VAULTWIRE_STATE) state = paths.resolve(env.VAULTWIRE_STATE.replace(/^~(?=[/\\]|$)/, () => home));
  return paths.join(state, "editor", `plugin-${name}.json`);
}

export default class VaultwirePlugin extends Plugin {
  private view: MarkdownView | null = null; // the one in front, or the last that was
  changes: Change[] = []; // those that wait for the person
  private notice: Notice | null = null; // of changes that wait
  private socket: WebSocket | null = null;
  connected = false;
  private paused = false;
  private shared: { clients: string[]; path: string } | null = null; // null: the server does not say
  private seen = NOTHING; // what was told last
  private told = "";
  private wait = FIRST_WAIT;
  private retry = 0;
  private warned = false; // that it is of another version
  private unloaded = false;
  private push = debounce(() => this.tell(), QUIET, true);
  private status!: HTMLElement;

  async onload(): Promise<void> {
    await this.readSettings(); // before anything is told
    this.status = this.addStatusBarItem();
    this.status.addClass("mod-clickable");
    this.status.setAttribute("data-tooltip-position", "top"); // not below the window
    this.registerDomEvent(this.status, "click", (event) => {
      if (this.changes.length) void this.showChanges();
      else this.showMenu(event);
    });
    this.registerDomEvent(this.status, "contextmenu", (event) => this.showMenu(event));
    this.registerView(CHANGES, (leaf) => new ChangesView(leaf, this));
    this.addCommands();
    const { vault, workspace } = this.app;
    this.registerEvent(workspace.on("active-leaf-change", () => this.push()));
    this.registerEvent(workspace.on("file-open", () => this.push()));
    this.registerEvent(workspace.on("layout-change", () => this.push()));
    this.registerEvent(vault.on("rename", () => this.push()));
    this.registerEvent(workspace.on("editor-menu", (menu, editor, info) => this.offerPart(menu, editor, info)));
    this.registerEvent(workspace.on("file-menu", (menu, file) => {
      if (file instanceof TFile) this.offer(menu, "Mention to assistant", () => this.mention(file.path));
    }));
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.docChanged) this.push();
    }));
    // A person who has just started the server in a terminal comes back to this window: no need to wait.
    this.registerDomEvent(window, "focus", () => this.connect());
    this.showStatus();
    workspace.onLayoutReady(() => this.connect());
  }

  onunload(): void {
    this.unloaded = true; // what waits stays with the server, which has a page for it
    this.push.cancel();
    window.clearTimeout(this.retry);
    this.notice?.hide();
    this.socket?.close();
  }

  async onExternalSettingsChange(): Promise<void> {
    await this.readSettings();
    this.tell();
    this.showStatus();
  }

  private async readSettings(): Promise<void> {
    const settings = (await this.loadData()) as { paused?: unknown } | null;
    this.paused = settings?.paused === true;
  }

  private addCommands(): void {
    this.addCommand({
      id: "tag",
      name: "Mention selection or note to assistant",
      checkCallback: (checking) => {
        const view = this.frontView();
        if (!view?.file) return false;
        if (!checking) void this.mentionSelection(view);
        return true;
      },
    });
    this.addCommand({ id: "show-changes", name: "Show changes that wait", callback: () => void this.showChanges() });
    for (const [id, name, paused] of [["pause", "Pause sharing", true], ["resume", "Resume sharing", false]] as const) {
      this.addCommand({
        id,
        name,
        checkCallback: (checking) => {
          if (this.paused === paused) return false;
          if (!checking) void this.setPaused(paused);
          return true;
        },
      });
    }
  }

  // ---------------------------------------------------------------- the link

  private connect(): void {
    window.clearTimeout(this.retry);
    if (this.unloaded || this.socket) return;
    let link: Link;
    try {
      const { adapter } = this.app.vault;
      if (!(adapter instanceof FileSystemAdapter)) return;
      link = JSON.parse(readFileSync(linkPlace(adapter.getBasePath()), "utf8")) as Link;
      this.socket = new WebSocket(`ws://127.0.0.1:${Number(link.port)}/plugin?key=${encodeURIComponent(link.token)}`);
    } catch {
      this.connectLater(); // no server runs
      return;
    }
    this.socket.addEventListener("message", (event: MessageEvent<string>) => {
      this.receive(JSON.parse(event.data) as Message, link);
    });
    this.socket.addEventListener("close", () => {
      this.socket = null;
      this.connected = false;
      this.shared = null;
      if (this.unloaded) return;
      if (this.changes.length) new Notice(LOST);
      this.receiveChanges([]);
      this.connectLater();
    });
  }

  private connectLater(): void {
    if (this.unloaded) return;
    this.retry = window.setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }

  private receive(message: Message, link: Link): void {
    if (!this.connected) this.greet(message, link);
    else if (message.type === "changes") this.receiveChanges(message.changes);
    else if (message.type === "open") void this.openNote(message.path, message.line);
    else if (message.type === "shared") {
      this.shared = message;
      this.showStatus();
    } else if (message.type === "mentioned" && message.outcome === "nobody") new Notice(NO_ASSISTANT);
    else if (message.type === "mentioned" && message.outcome === "private") new Notice(PRIVATE);
  }

  // Nothing is told before the other side has shown that it is the server: the port may since be somebody else's.
  private greet(message: Message, link: Link): void {
    const isServer = message.type === "hello" && message.answer === link.answer;
    if (!isServer || message.version !== VERSION) {
      if (isServer && !this.warned) {
        this.warned = true;
        new Notice(OTHER_VERSION);
      }
      this.socket?.close();
      return;
    }
    this.connected = true;
    this.wait = FIRST_WAIT;
    this.told = "";
    this.showStatus();
    this.tell();
  }

  send(message: object): void {
    if (this.connected) this.socket?.send(JSON.stringify(message));
  }

  // ---------------------------------------------------------------- status

  private showStatus(): void {
    const count = this.changes.length;
    this.status.setText(count ? `Vaultwire: ${count} to look at` : this.shortState());
    this.status.ariaLabel = count ? "Show changes that wait" : this.longState();
  }

  private shortState(): string {
    if (!this.connected) return "Vaultwire off";
    if (this.paused) return "Vaultwire paused";
    if (!this.shared) return "Vaultwire";
    if (!this.shared.clients.length) return "Vaultwire: no assistant";
    const name = this.shared.path.split("/").pop() ?? "";
    const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
    return name ? `Assistant sees ${short}${this.selection()}` : "Assistant sees no note";
  }

  private longState(): string {
    if (!this.connected) return NOT_RUNNING;
    if (this.paused) return "Sharing is paused: assistants are not told which note is open.";
    if (!this.shared) return "Vaultwire is connected.";
    if (!this.shared.clients.length) return NO_ASSISTANT;
    const names = this.shared.clients.join(", ");
    if (this.shared.path) return `Connected: ${names}. Shared: ${this.shared.path}${this.selection()}`;
    return this.seen.path ? `Connected: ${names}. ${PRIVATE}` : `Connected: ${names}. No note is open.`;
  }

  private selection(): string {
    const { path: notePath, text, start, end } = this.seen;
    if (!text || notePath !== this.shared?.path) return "";
    const count = end[0] - start[0] + (end[1] === 0 && end[0] > start[0] ? 0 : 1); // as in selectedLines
    return count === 1 ? ", 1 line selected" : `, ${count} lines selected`;
  }

  private showMenu(event: MouseEvent): void {
    const menu = new Menu();
    menu.addItem((item) => item.setTitle(this.longState()).setIsLabel(true));
    menu.addItem((item) => item.setTitle("Show changes that wait").setIcon("file-diff").onClick(() => this.showChanges()));
    menu.addItem((item) => item
      .setTitle(this.paused ? "Resume sharing" : "Pause sharing")
      .setIcon(this.paused ? "play" : "pause")
      .onClick(() => this.setPaused(!this.paused)));
    menu.showAtMouseEvent(event);
  }

  private async setPaused(paused: boolean): Promise<void> {
    this.paused = paused;
    this.tell(); // at once: it must not wait for the disk
    this.showStatus();
    await this.saveData({ paused }); // the server reads it, too, while the plugin is not connected
  }

  // ---------------------------------------------------------------- what the person sees

  // The Markdown view in front; while another pane has the focus, a terminal perhaps, the last that was.
  private frontView(): MarkdownView | null {
    const { workspace } = this.app;
    const leaves = workspace.getLeavesOfType("markdown");
    const recent = workspace.getMostRecentLeaf()?.view;
    const front = workspace.getActiveViewOfType(MarkdownView) ?? (recent instanceof MarkdownView ? recent : this.view);
    this.view = leaves.some((leaf) => leaf.view === front) ? front : null; // it may have been closed
    return this.view;
  }

  private look(): Seen {
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

  private tell(): void {
    const seen = this.paused ? NOTHING : this.look();
    const text = JSON.stringify(seen);
    if (!this.connected || text === this.told) return;
    [this.told, this.seen] = [text, seen];
    this.send({ type: "state", ...seen });
    this.showStatus(); // of the selection
  }

  private async openNote(notePath: string, line: number): Promise<void> {
    const file = this.app.vault.getFileByPath(notePath);
    if (!file) return;
    const { workspace } = this.app;
    const there = workspace.getLeavesOfType("markdown").find((leaf) => leaf.getViewState().state?.file === notePath);
    const leaf = there ?? workspace.getLeaf(false);
    if (!there) await leaf.openFile(file);
    await workspace.revealLeaf(leaf);
    workspace.setActiveLeaf(leaf, { focus: true });
    if (!(leaf.view instanceof MarkdownView) || line < 1) return;
    const { editor } = leaf.view;
    const place = { line: Math.min(line, editor.lineCount()) - 1, ch: 0 };
    editor.setCursor(place);
    editor.scrollIntoView({ from: place, to: place }, true);
  }

  // ---------------------------------------------------------------- mentions

  private mention(filePath: string, lines: Lines = { first: 0, last: 0 }): void {
    if (!this.connected) new Notice(NOT_RUNNING);
    else this.send({ type: "mention", path: filePath, ...lines });
  }

  private async mentionSelection(view: MarkdownView): Promise<void> {
    const isSelected = view.getMode() === "source" && view.editor.somethingSelected();
    await this.mentionLines(view, isSelected ? selectedLines(view.editor) : undefined);
  }

  private async mentionLines(view: MarkdownView, lines?: Lines): Promise<void> {
    if (this.connected) await view.save(); // the assistant reads the file
    if (view.file) this.mention(view.file.path, lines);
  }

  private offer(menu: Menu, title: string, run: () => void): void {
    if (this.connected) menu.addItem((item) => item.setTitle(title).setIcon("at-sign").onClick(run));
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
    const lines = find(this.app.metadataCache.getFileCache(view.file), editor.getCursor().line, editor.lineCount());
    await this.mentionLines(view, lines ?? selectedLines(editor)); // the cursor's line, if the app knows no better
  }

  // The app's cache has the lines of what was saved. It saves two seconds after the last key.
  private async refreshCache(view: MarkdownView, file: TFile): Promise<void> {
    const { metadataCache, vault } = this.app;
    if (view.editor.getValue() === await vault.cachedRead(file)) return;
    const changed = new Promise<void>((resolve) => {
      const heard = metadataCache.on("changed", (of) => {
        if (of !== file) return;
        metadataCache.offref(heard);
        resolve();
      });
      this.registerEvent(heard);
      window.setTimeout(resolve, LAST_SAVE);
    });
    await view.save();
    await changed;
  }

  // ---------------------------------------------------------------- changes

  private receiveChanges(changes: Change[]): void {
    const known = new Set(this.changes.map((change) => change.id));
    const news = changes.filter((change) => !known.has(change.id));
    const { workspace } = this.app;
    this.changes = changes;
    this.showStatus();
    for (const leaf of workspace.getLeavesOfType(CHANGES)) if (leaf.view instanceof ChangesView) leaf.view.show();
    if (!changes.length) this.notice?.hide();
    if (news.length) this.announce(news);
    else if (known.size && !changes.length) this.goBack();
  }

  // A person who works in this window is told, and asks for the pane: one that opened by itself would take what is typed.
  private announce(news: Change[]): void {
    if (this.app.workspace.getLeavesOfType(CHANGES).some((leaf) => leaf.view.containerEl.isShown())) return;
    if (!activeDocument.hasFocus()) {
      void this.showChanges();
      return;
    }
    const [first] = news;
    const text = news.length === 1 ? `A change to ${first?.path} waits for you. ` : `${news.length} changes wait for you. `;
    this.notice?.hide();
    this.notice = new Notice(createFragment((words) => {
      words.appendText(text);
      words.createEl("button", { text: "Show" }, (button) => {
        button.addEventListener("click", () => void this.showChanges());
      });
    }), LASTING);
  }

  // To the note, once all is decided. A pane that the person has put into a sidebar stays there.
  private goBack(): void {
    const { workspace } = this.app;
    for (const leaf of workspace.getLeavesOfType(CHANGES)) if (leaf.getRoot() === workspace.rootSplit) leaf.detach();
  }

  async showChanges(): Promise<void> {
    this.notice?.hide();
    const { workspace } = this.app;
    const [there] = workspace.getLeavesOfType(CHANGES);
    const leaf = there ?? workspace.getLeaf("tab");
    if (!there) await leaf.setViewState({ type: CHANGES, active: true });
    await workspace.revealLeaf(leaf);
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

class ChangesView extends ItemView {
  private words!: HTMLElement;

  constructor(leaf: WorkspaceLeaf, private readonly plugin: VaultwirePlugin) {
    super(leaf);
  }

  getViewType(): string {
    return CHANGES;
  }

  getDisplayText(): string {
    return "Changes to look at";
  }

  getIcon(): string {
    return "file-diff";
  }

  async onOpen(): Promise<void> {
    this.contentEl.addClass(CHANGES);
    // The second click of a double click was meant for what was there at the first.
    this.registerDomEvent(this.contentEl, "click", (event) => {
      if (event.detail > 1 && event.target instanceof Element && event.target.closest("button")) event.stopPropagation();
    }, true);
    this.words = this.contentEl.createEl("p");
    this.show();
  }

  // Those that still wait stay as they are: the person may be editing one.
  show(): void {
    const { changes, connected } = this.plugin;
    const ids = new Set(changes.map((change) => change.id));
    const shown = new Set<string>();
    for (const article of this.contentEl.findAll("article")) {
      const id = article.dataset.id ?? "";
      if (ids.has(id)) shown.add(id);
      else this.takeAway(article);
    }
    for (const change of changes) if (!shown.has(change.id)) this.add(change);
    const nothing = connected ? "Nothing waits for you." : "Vaultwire is not running. Nothing waits for you.";
    this.words.setText(changes.length ? "Nothing is written before you accept it." : nothing);
  }

  // A change that waits no more leaves its place empty while others wait: if the next one came up, its buttons could come
  // under the pointer just as the person clicks once more.
  private takeAway(article: HTMLElement): void {
    const { height } = article.getBoundingClientRect();
    if (!height) {
      article.remove(); // nobody looks
      return;
    }
    const text = `${article.dataset.outcome ?? "Waits no more"}: ${article.find("strong").textContent}`;
    const place = this.contentEl.createDiv({ cls: "vaultwire-decided", text });
    place.setCssStyles({ height: `${height}px` });
    const hadFocus = article.contains(activeDocument.activeElement);
    article.replaceWith(place);
    if (!hadFocus) return;
    place.tabIndex = -1; // from here the Tab key leads to the next change; no button has the focus by itself
    place.focus();
  }

  private add(change: Change): void {
    const article = this.contentEl.createEl("article");
    article.dataset.id = change.id;
    const header = article.createEl("header");
    const name = `vaultwire-${change.id}`; // for screen readers: buttons of all changes have the same text
    article.setAttribute("aria-labelledby", name);
    header.createEl("strong", { text: change.path, attr: { id: name } });
    header.createSpan({ text: change.label });
    const pre = article.createEl("pre");
    // Text only, never markup: an assistant wrote it.
    for (const [kind, text] of change.lines) {
      const sign = { added: "+ ", removed: "- ", gap: "" }[kind] ?? "  ";
      pre.createDiv({ cls: `vaultwire-${kind}`, text: sign + text });
    }
    const area = article.createEl("textarea", { attr: { "aria-label": "The note's new text", spellcheck: "false" } });
    area.value = change.new;
    area.hidden = true;
    this.addButtons(article, change, pre, area);
  }

  private addButtons(article: HTMLElement, change: Change, pre: HTMLElement, area: HTMLTextAreaElement): void {
    let edited = false; // a text area drops carriage returns, so an unedited text goes back as it came
    const decide = (text: string | null) => {
      article.dataset.outcome = text === null ? "Rejected" : "Accepted";
      this.plugin.send({ type: "decide", id: change.id, text });
    };
    const footer = article.createEl("footer");
    const attr = { "aria-describedby": `vaultwire-${change.id}` };
    const accept = footer.createEl("button", { cls: "mod-cta", text: "Accept", attr });
    const edit = footer.createEl("button", { text: "Edit", attr });
    const reject = footer.createEl("button", { text: "Reject", attr });
    area.addEventListener("input", () => {
      edited = true;
      accept.setText("Accept as edited"); // the change that is shown is still the one proposed
    });
    accept.addEventListener("click", () => decide(edited ? area.value : change.new));
    reject.addEventListener("click", () => decide(null));
    edit.addEventListener("click", () => {
      [area.hidden, pre.hidden] = [pre.hidden, area.hidden];
      edit.setText(area.hidden ? "Edit" : "Show the change");
      if (!area.hidden) area.focus();
    });
  }
}
