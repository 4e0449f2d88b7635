"use strict";
// Tells a vaultwire server on this computer what the person sees, and shows what it asks to be shown. It reads one file
// outside the vault, talks to this computer alone, and writes no note.

const { FileSystemAdapter, ItemView, MarkdownView, Notice, Plugin, debounce } = require("obsidian");
const { EditorView } = require("@codemirror/view");
const crypto = require("crypto");
const fs = require("fs");
const os = require("os");
const path = require("path");

const VERSION = 1; // of the messages, as in desk/plugin_link.py, which says what they are
const CHANGES = "vaultwire-changes";
const QUIET = 50; // milliseconds without a change before it is told
const MAX_SELECTED = 100_000; // characters; the server cuts there too
const [FIRST_WAIT, LAST_WAIT] = [1000, 30_000]; // milliseconds between attempts to connect

// Where the server of a vault says how to reach it. The recipe is `link_place` in transports/lock_file.py, below the state
// folder of config.py (`_user_state`): <state>/editor/plugin-<16 digits of the SHA-256 of the vault's real path>.json.
function linkPlace(vault, env = process.env, platform = process.platform, home = os.homedir()) {
  const { isAbsolute, join, resolve } = platform === "win32" ? path.win32 : path.posix;
  const real = platform === "win32" ? fs.realpathSync.native(vault) : fs.realpathSync(vault);
  const name = crypto.createHash("sha256").update(real).digest("hex").slice(0, 16);
  // A Flatpak gives its app a state folder of its own; the server's is outside.
  const xdg = (env.FLATPAK_ID ? env.HOST_XDG_STATE_HOME : env.XDG_STATE_HOME) || "";
  let state = join(isAbsolute(xdg) ? xdg : join(home, ".local", "state"), "vaultwire");
  if (platform === "darwin") state = join(home, "Library", "Application Support", "vaultwire");
  if (platform === "win32") state = join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "vaultwire-state");
  if (env.VAULTWIRE_STATE) state = resolve(env.VAULTWIRE_STATE.replace(/^~(?=[/\\]|$)/, () => home));
  return join(state, "editor", `plugin-${name}.json`);
}

class VaultwirePlugin extends Plugin {
  async onload() {
    /** @type {import("obsidian").MarkdownView | null} the one in front, or the last that was */
    this.view = null;
    this.changes = []; // those that wait for the person
    this.socket = null;
    this.connected = false;
    this.told = "";
    this.wait = FIRST_WAIT;
    this.warned = false; // that it is of another version
    this.unloaded = false;
    this.push = debounce(() => this.tell(), QUIET, true);
    this.status = this.addStatusBarItem();
    this.status.addClass("mod-clickable");
    this.registerDomEvent(this.status, "click", () => this.showChanges());
    this.registerView(CHANGES, (leaf) => new ChangesView(leaf, this));
    this.addCommand({
      id: "tag", name: "Tag selection or note", hotkeys: [{ modifiers: ["Mod", "Alt"], key: "k" }], callback: () => this.tag(),
    });
    this.addCommand({ id: "show-changes", name: "Show changes that wait", callback: () => this.showChanges() });
    const { vault, workspace } = this.app;
    this.registerEvent(workspace.on("active-leaf-change", () => this.push()));
    this.registerEvent(workspace.on("file-open", () => this.push()));
    this.registerEvent(workspace.on("layout-change", () => this.push()));
    this.registerEvent(vault.on("rename", () => this.push()));
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.docChanged) this.push();
    }));
    // Whoever has just started the server in a terminal comes back to this window: no need to wait.
    this.registerDomEvent(window, "focus", () => this.connect());
    this.showStatus();
    workspace.onLayoutReady(() => this.connect());
  }

  onunload() {
    this.unloaded = true; // what waits stays with the server, which has a page for it
    this.push.cancel();
    window.clearTimeout(this.retry);
    this.socket?.close();
    this.app.workspace.detachLeavesOfType(CHANGES);
  }

  // ---------------------------------------------------------------- the link

  connect() {
    window.clearTimeout(this.retry);
    if (this.unloaded || this.socket) return;
    let link;
    try {
      const { adapter } = this.app.vault;
      if (!(adapter instanceof FileSystemAdapter)) return;
      link = JSON.parse(fs.readFileSync(linkPlace(adapter.getBasePath()), "utf8"));
      this.socket = new WebSocket(`ws://127.0.0.1:${Number(link.port)}/plugin?key=${encodeURIComponent(link.token)}`);
    } catch {
      this.connectLater(); // no server runs
      return;
    }
    this.socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data), link));
    this.socket.addEventListener("close", () => {
      this.socket = null;
      this.connected = false;
      if (this.unloaded) return;
      if (this.changes.length) new Notice("Vaultwire is not connected any more. Nothing was written.");
      this.receiveChanges([]);
      this.connectLater();
    });
  }

  connectLater() {
    if (this.unloaded) return;
    this.retry = window.setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }

  receive(message, link) {
    if (!this.connected) {
      // Nothing is told before the other side has shown that it is the server: the port may since be somebody else's.
      if (message.type !== "hello" || message.answer !== link.answer || message.version !== VERSION) {
        if (message.answer === link.answer && !this.warned) {
          this.warned = true;
          new Notice("Vaultwire has changed: run vaultwire plugin install, and turn the plugin off and on again.");
        }
        this.socket.close();
        return;
      }
      this.connected = true;
      this.wait = FIRST_WAIT;
      this.told = "";
      this.showStatus();
      this.tell();
    } else if (message.type === "changes") this.receiveChanges(message.changes);
    else if (message.type === "open") this.openNote(message.path, message.line);
    else if (message.type === "mentioned" && message.outcome === "nobody") {
      new Notice("No assistant is connected. In Claude Code, type /ide and choose Obsidian.");
    } else if (message.type === "mentioned" && message.outcome === "private") new Notice("Your policy keeps this note private.");
  }

  send(message) {
    if (this.connected) this.socket.send(JSON.stringify(message));
  }

  showStatus() {
    const count = this.changes.length;
    const text = count ? `Vaultwire: ${count} to look at` : this.connected ? "Vaultwire" : "Vaultwire off";
    this.status.setText(text);
    this.status.ariaLabel = this.connected ? "Show changes that wait" : "Not connected: start vaultwire ide";
  }

  // ---------------------------------------------------------------- what the person sees

  // The Markdown view in front; while another pane has the focus, a terminal perhaps, the last that was.
  frontView() {
    const { workspace } = this.app;
    const leaves = workspace.getLeavesOfType("markdown");
    const recent = workspace.getMostRecentLeaf()?.view;
    const front = workspace.getActiveViewOfType(MarkdownView) ?? (recent instanceof MarkdownView ? recent : this.view);
    this.view = leaves.some((leaf) => leaf.view === front) ? front : null; // it may have been closed
    return this.view;
  }

  tell() {
    const view = this.frontView();
    const editor = view?.getMode() === "source" ? view.editor : null;
    const spot = (side) => {
      const { line, ch } = editor?.getCursor(side) ?? { line: 0, ch: 0 };
      return [line, ch];
    };
    const message = {
      type: "state",
      path: (view ? view.file : this.app.workspace.getActiveFile())?.path ?? "",
      text: (editor?.getSelection() ?? "").slice(0, MAX_SELECTED),
      start: spot("from"),
      end: spot("to"),
      // From the leaves' states, not their views: tabs not looked at yet have none.
      tabs: this.app.workspace.getLeavesOfType("markdown").map((leaf) => leaf.getViewState().state?.file).filter(Boolean),
    };
    const text = JSON.stringify(message);
    if (!this.connected || text === this.told) return;
    this.told = text;
    this.send(message);
  }

  async tag() {
    const view = this.frontView();
    if (!view?.file) return new Notice("No note is open.");
    if (!this.connected) return new Notice("Vaultwire is not running. Start it with: vaultwire ide --vault PATH");
    await view.save(); // the assistant reads the file
    const isSelected = view.getMode() === "source" && view.editor.somethingSelected();
    const [from, to] = [view.editor.getCursor("from"), view.editor.getCursor("to")];
    const last = to.ch === 0 && to.line > from.line ? to.line : to.line + 1; // a line of which nothing is selected is none
    this.send({ type: "mention", path: view.file.path, first: isSelected ? from.line + 1 : 0, last: isSelected ? last : 0 });
  }

  async openNote(notePath, line) {
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

  // ---------------------------------------------------------------- changes

  receiveChanges(changes) {
    const known = new Set(this.changes.map((change) => change.id));
    const isNews = changes.some((change) => !known.has(change.id));
    const { workspace } = this.app;
    this.changes = changes;
    this.showStatus();
    if (isNews) this.showChanges();
    else if (known.size && !changes.length) workspace.detachLeavesOfType(CHANGES); // back to the note
    for (const leaf of workspace.getLeavesOfType(CHANGES)) if (leaf.view instanceof ChangesView) leaf.view.show();
  }

  async showChanges() {
    const { workspace } = this.app;
    const [there] = workspace.getLeavesOfType(CHANGES);
    const leaf = there ?? workspace.getLeaf("tab");
    if (!there) await leaf.setViewState({ type: CHANGES, active: true });
    await workspace.revealLeaf(leaf);
  }
}

class ChangesView extends ItemView {
  constructor(leaf, plugin) {
    super(leaf);
    this.plugin = plugin;
  }

  getViewType() { return CHANGES; }

  getDisplayText() { return "Changes to look at"; }

  getIcon() { return "file-diff"; }

  async onOpen() {
    this.contentEl.addClass(CHANGES);
    // The second click of a double click was meant for what was there at the first.
    this.contentEl.addEventListener("click", (event) => {
      if (event.detail > 1 && event.target instanceof Element && event.target.closest("button")) event.stopPropagation();
    }, true);
    this.words = this.contentEl.createEl("p");
    this.show();
  }

  // Those that still wait stay as they are: the person may be editing one.
  show() {
    const { changes, connected } = this.plugin;
    const ids = new Set(changes.map((change) => change.id));
    const shown = new Set();
    for (const article of this.contentEl.findAll("article")) {
      if (ids.has(article.dataset.id)) shown.add(article.dataset.id);
      else this.takeAway(article);
    }
    for (const change of changes) if (!shown.has(change.id)) this.add(change);
    const nothing = connected ? "Nothing waits for you." : "Vaultwire is not running. Nothing waits for you.";
    this.words.setText(changes.length ? "Nothing is written before you accept it." : nothing);
  }

  // A change that waits no more leaves its place empty while others wait: if the next one came up, its buttons could come
  // under the pointer just as the person clicks once more.
  takeAway(article) {
    const { height } = article.getBoundingClientRect();
    if (!height) return article.remove(); // nobody looks
    const text = `${article.dataset.outcome ?? "Waits no more"}: ${article.querySelector("strong").textContent}`;
    const place = this.contentEl.createDiv({ cls: "vaultwire-decided", text });
    place.style.height = `${height}px`;
    article.replaceWith(place);
  }

  add(change) {
    const article = this.contentEl.createEl("article");
    article.dataset.id = change.id;
    const header = article.createEl("header");
    header.createEl("strong", { text: change.path });
    header.createEl("span", { text: change.label });
    const pre = article.createEl("pre");
    // Text only, never markup: whoever proposed the change wrote it.
    for (const [kind, text] of change.lines) {
      pre.createDiv({ cls: `vaultwire-${kind}`, text: ({ added: "+ ", removed: "- ", gap: "" }[kind] ?? "  ") + text });
    }
    const area = article.createEl("textarea", { attr: { "aria-label": "The note's new text", spellcheck: "false" } });
    area.value = change.new;
    area.hidden = true;
    let edited = false; // a text area drops carriage returns, so an unedited text goes back as it came
    const decide = (text) => {
      article.dataset.outcome = text === null ? "Rejected" : "Accepted";
      this.plugin.send({ type: "decide", id: change.id, text });
    };
    const footer = article.createEl("footer");
    const accept = footer.createEl("button", { cls: "mod-cta", text: "Accept" });
    const edit = footer.createEl("button", { text: "Edit" });
    const reject = footer.createEl("button", { text: "Reject" });
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

module.exports = VaultwirePlugin;
module.exports.linkPlace = linkPlace;
