// Tells a vaultwire server on this computer what the person sees, shows what assistants changed and what waits for the
// person, and starts that server if it is asked to. It talks to this computer alone, and writes no note.
//
// main.js is made from the files in src/ by esbuild and is not edited.

import { EditorView } from "@codemirror/view";
import { FileSystemAdapter, MarkdownView, Menu, Notice, Plugin, debounce } from "obsidian";
import { Desk, isWaiting, type DeskView } from "./desk";
import { Link } from "./link";
import { Mentions } from "./mentions";
import type { Item, Message } from "./messages";
import { CHANGES, ChangesView } from "./pane";
import { NOTHING, Sight } from "./seen";
import { SettingsTab } from "./settings";
import { Starter, type Starting } from "./starter";

export { linkPlace, programPlace } from "./places";
export { Starter, findCommand } from "./starter";

const QUIET = 50; // milliseconds without a change before it is told
const MAX_NAME = 40; // characters of a note's name in the status bar
const LASTING = 0; // the duration of a notice that stays until it is clicked
const STARTING = "vaultwire-start"; // the key of what is kept on this computer alone

const NO_ASSISTANT = "No assistant is connected. In Claude Code, type /ide and choose Obsidian.";
const NOT_RUNNING = "Vaultwire is not running. Start it with: vaultwire ide --vault PATH";
const OTHER_VERSION = "Vaultwire has changed: run vaultwire plugin install, and turn the plugin off and on again.";
const LOST = "Vaultwire is not connected any more. What waits stays with it.";
const PRIVATE = "Your policy keeps this note private.";

export default class VaultwirePlugin extends Plugin {
  private desk = new Desk((message) => this.link?.send(message));
  private sight = new Sight(this.app);
  private link: Link | null = null; // null before the layout is ready
  private starter: Starter | null = null;
  starting: Starting = { isAsked: false, program: "" };
  private known = new Set<string>(); // ids of what waits
  private notice: Notice | null = null; // of what waits
  private paused = false;
  private shared: { clients: string[]; path: string } | null = null; // null: the server does not say
  private seen = NOTHING; // what was told last
  private told = "";
  private warned = false; // that it is of another version
  private push = debounce(() => this.tell(), QUIET, true);
  private status!: HTMLElement;

  async onload(): Promise<void> {
    await this.readSettings(); // before anything is told
    this.status = this.addStatusBarItem();
    this.status.addClass("mod-clickable");
    this.status.setAttribute("data-tooltip-position", "top"); // not below the window
    this.registerDomEvent(this.status, "click", (event) => {
      if (this.desk.waiting) void this.showChanges();
      else this.showMenu(event);
    });
    this.registerDomEvent(this.status, "contextmenu", (event) => this.showMenu(event));
    this.registerView(CHANGES, (leaf) => new ChangesView(leaf, this.desk, () => this.connected));
    this.addSettingTab(new SettingsTab(this, this));
    this.addCommands();
    this.watch();
    this.desk.views.add(this.announcer());
    this.showStatus();
    this.app.workspace.onLayoutReady(() => this.begin());
  }

  onunload(): void {
    this.push.cancel();
    this.notice?.hide(); // what waits stays with the server, and on the desk
    this.link?.end();
    this.starter?.stop();
  }

  async onExternalSettingsChange(): Promise<void> {
    await this.readSettings();
    this.tell();
    this.showStatus();
  }

  get connected(): boolean {
    return this.link?.connected ?? false;
  }

  isPaused(): boolean {
    return this.paused;
  }

  private async readSettings(): Promise<void> {
    const settings = (await this.loadData()) as { paused?: unknown } | null;
    this.paused = settings?.paused === true;
    const starting = this.app.loadLocalStorage(STARTING) as Partial<Starting> | null;
    this.starting = { isAsked: starting?.isAsked === true, program: typeof starting?.program === "string" ? starting.program : "" };
  }

  setStarting(starting: Starting): void {
    this.starting = starting;
    this.app.saveLocalStorage(STARTING, starting);
    this.starter?.forgive();
    if (!starting.isAsked) this.starter?.stop();
    else if (!this.connected) this.link?.connectSoon();
  }

  private addCommands(): void {
    new Mentions(this, this.sight, {
      isConnected: () => this.connected,
      mention: (filePath, lines) => {
        if (!this.connected) new Notice(NOT_RUNNING);
        else this.link?.send({ type: "mention", path: filePath, ...lines });
      },
    }).register();
    this.addCommand({ id: "show-changes", name: "Show changes by assistants", callback: () => void this.showChanges() });
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
    this.addCommand({
      id: "start",
      name: "Start the program for this vault",
      checkCallback: (checking) => {
        if (this.connected || !this.starter || this.starter.isRunning) return false;
        if (!checking) this.starter.start();
        return true;
      },
    });
  }

  // Tell the server whenever what the person sees may be something else.
  private watch(): void {
    const { vault, workspace } = this.app;
    this.registerEvent(workspace.on("active-leaf-change", () => this.push()));
    this.registerEvent(workspace.on("file-open", () => this.push()));
    this.registerEvent(workspace.on("layout-change", () => this.push()));
    this.registerEvent(vault.on("rename", () => this.push()));
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.docChanged) this.push();
    }));
    // A person who has just started the server in a terminal comes back to this window: no need to wait.
    this.registerDomEvent(window, "focus", () => this.link?.connect());
    // A window that closes or reloads unloads no plugin.
    this.registerDomEvent(window, "beforeunload", () => this.starter?.stop());
  }

  // ---------------------------------------------------------------- the server

  private begin(): void {
    const { adapter } = this.app.vault;
    if (!(adapter instanceof FileSystemAdapter)) return;
    const vault = adapter.getBasePath();
    this.starter = new Starter(
      vault,
      () => this.starting,
      () => this.link?.connectSoon(),
      (why) => new Notice(`Vaultwire could not be started. ${why}`, LASTING),
    );
    this.link = new Link(vault, {
      onConnected: () => {
        this.told = "";
        this.showStatus();
        this.tell();
      },
      onMessage: (message) => this.receive(message),
      onOtherVersion: () => {
        if (!this.warned) new Notice(OTHER_VERSION);
        this.warned = true;
      },
      onLost: () => {
        this.shared = null;
        if (this.desk.waiting) new Notice(LOST);
        this.desk.clear();
      },
      onNobody: () => this.starter?.startIfAsked(),
    });
    this.link.connect();
  }

  private receive(message: Message): void {
    if (message.type === "open") void this.openNote(message.path, message.line);
    else if (message.type === "shared") {
      this.shared = message;
      this.showStatus();
    } else if (message.type === "mentioned") {
      if (message.outcome === "nobody") new Notice(NO_ASSISTANT);
      else if (message.outcome === "private") new Notice(PRIVATE);
    } else this.desk.receive(message);
  }

  // ---------------------------------------------------------------- status

  private showStatus(): void {
    const count = this.desk.waiting;
    this.status.setText(count ? `Vaultwire: ${count} ${count === 1 ? "waits" : "wait"}` : this.shortState());
    this.status.ariaLabel = count ? "Show what waits for you" : this.longState();
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

  longState(): string {
    if (!this.connected) return NOT_RUNNING;
    if (this.paused) return "Sharing is paused: assistants are not told which note is open.";
    if (!this.shared) return "Vaultwire is connected.";
    if (!this.shared.clients.length) return NO_ASSISTANT;
    const names = this.shared.clients.join(", ");
    if (this.shared.path) return `Connected: ${names}. Shared: ${this.shared.path}${this.selection()}`;
    return this.seen.path ? `Connected: ${names}. ${PRIVATE}` : `Connected: ${names}. No note is open.`;
  }

  private selection(): string {
    const { path, text, start, end } = this.seen;
    if (!text || path !== this.shared?.path) return "";
    const count = end[0] - start[0] + (end[1] === 0 && end[0] > start[0] ? 0 : 1); // as in selectedLines
    return count === 1 ? ", 1 line selected" : `, ${count} lines selected`;
  }

  private showMenu(event: MouseEvent): void {
    const menu = new Menu();
    menu.addItem((item) => item.setTitle(this.longState()).setIsLabel(true));
    menu.addItem((item) => item.setTitle("Show changes by assistants").setIcon("file-diff").onClick(() => this.showChanges()));
    menu.addItem((item) => item
      .setTitle(this.paused ? "Resume sharing" : "Pause sharing")
      .setIcon(this.paused ? "play" : "pause")
      .onClick(() => this.setPaused(!this.paused)));
    menu.showAtMouseEvent(event);
  }

  async setPaused(paused: boolean): Promise<void> {
    this.paused = paused;
    this.tell(); // at once: it must not wait for the disk
    this.showStatus();
    await this.saveData({ paused }); // the server reads it, too, while the plugin is not connected
  }

  private tell(): void {
    const seen = this.paused ? NOTHING : this.sight.look();
    const text = JSON.stringify(seen);
    if (!this.connected || text === this.told) return;
    [this.told, this.seen] = [text, seen];
    this.link?.send({ type: "state", ...seen });
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

  // ---------------------------------------------------------------- what waits

  private announcer(): DeskView {
    return {
      showItems: () => {
        const waiting = this.desk.items.filter(isWaiting);
        const news = waiting.filter(({ id }) => !this.known.has(id));
        this.known = new Set(waiting.map(({ id }) => id));
        this.showStatus();
        if (!waiting.length) this.notice?.hide();
        if (news.length) this.announce(news);
      },
      showDetail: () => undefined,
      showText: () => undefined,
      showPreview: () => undefined,
      showHunks: () => undefined,
      showDecided: () => undefined,
      showFailed: () => undefined,
    };
  }

  // A person who works in this window is told, and asks for the pane: one that opened by itself would disturb. In a window
  // without the focus it may open. It never takes the focus by itself, as keys decide in it.
  private announce(news: Item[]): void {
    if (this.app.workspace.getLeavesOfType(CHANGES).some((leaf) => leaf.view.containerEl.isShown())) return;
    if (!activeDocument.hasFocus()) {
      void this.openPane();
      return;
    }
    const [first] = news;
    const text = news.length === 1 ? `Waits for you: ${first?.summary}. ` : `${news.length} changes wait for you. `;
    this.notice?.hide();
    this.notice = new Notice(createFragment((words) => {
      words.appendText(text);
      words.createEl("button", { text: "Show" }, (button) => {
        button.addEventListener("click", () => void this.showChanges());
      });
    }), LASTING);
  }

  private async openPane(): Promise<ChangesView | null> {
    this.notice?.hide();
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(CHANGES)[0]
      ?? await workspace.ensureSideLeaf(CHANGES, "right", { active: false, reveal: true });
    await workspace.revealLeaf(leaf);
    return leaf.view instanceof ChangesView ? leaf.view : null;
  }

  // At the person's wish: the pane takes the focus.
  private async showChanges(): Promise<void> {
    const view = await this.openPane();
    if (!view) return;
    this.app.workspace.setActiveLeaf(view.leaf, { focus: true });
    view.begin();
  }
}
