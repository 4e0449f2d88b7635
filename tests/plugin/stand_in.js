// A stand-in for Obsidian's API, as far as the plugin uses it, over real CodeMirror editors. The names and their meaning
// follow the typings that Obsidian publishes, to which test_main_js.py holds the plugin.
import { defaultKeymap, history } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import * as view from "@codemirror/view";
import { EditorState } from "@codemirror/state";

const { EditorView, keymap } = view;

// ---------------------------------------------------------------- Obsidian's helpers for elements

Object.assign(HTMLElement.prototype, {
  createEl(tag, { cls = "", text = "", attr = {} } = {}, then = () => {}) {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    made.textContent = text;
    for (const [name, value] of Object.entries(attr)) made.setAttribute(name, value);
    this.append(made);
    then(made);
    return made;
  },
  createSpan(options) { return this.createEl("span", options); },
  createDiv(options) { return this.createEl("div", options); },
  setText(text) { this.textContent = text; },
  addClass(...names) { this.classList.add(...names); },
  setCssStyles(styles) { Object.assign(this.style, styles); },
  toggleClass(name, is) { this.classList.toggle(name, is); },
  empty() { this.replaceChildren(); },
  isShown() { return this.checkVisibility(); },
  find(selector) { return this.querySelector(selector); },
  findAll(selector) { return [...this.querySelectorAll(selector)]; },
});

globalThis.createEl = (...given) => document.createDocumentFragment().createEl(...given);
globalThis.createDiv = (options) => globalThis.createEl("div", options);
DocumentFragment.prototype.appendText = function (text) { this.append(text); };
DocumentFragment.prototype.createEl = HTMLElement.prototype.createEl;
globalThis.activeDocument = document;
globalThis.createFragment = (fill) => {
  const fragment = document.createDocumentFragment();
  fill(fragment);
  return fragment;
};

// ---------------------------------------------------------------- what happens

class Events {
  handlers = [];
  on(name, callback) {
    const handler = { name, callback };
    this.handlers.push(handler);
    return handler;
  }
  offref(handler) { this.handlers = this.handlers.filter((each) => each !== handler); }
  trigger(name, ...data) { for (const each of this.handlers) if (each.name === name) each.callback(...data); }
}

function debounce(callback, timeout, resets) {
  let timer = 0;
  const later = (...args) => {
    if (timer && !resets) return later;
    clearTimeout(timer);
    timer = window.setTimeout(() => { timer = 0; callback(...args); }, timeout);
    return later;
  };
  later.cancel = () => { clearTimeout(timer); timer = 0; return later; };
  later.run = () => { if (timer) { later.cancel(); callback(); } };
  return later;
}

class Notice {
  constructor(content) {
    this.element = document.getElementById("notices").createDiv({ cls: "notice" });
    this.element.append(content);
    this.element.addEventListener("click", () => this.hide());
  }
  hide() { this.element.remove(); }
}

class MenuItem {
  constructor(menu) {
    this.menu = menu;
    this.button = menu.element.createEl("button");
  }
  setTitle(title) {
    this.button.textContent = title;
    return this;
  }
  setIcon() { return this; }
  setIsLabel(isLabel) {
    this.button.disabled = isLabel;
    return this;
  }
  onClick(callback) {
    this.button.addEventListener("click", () => {
      this.menu.element.remove();
      callback();
    });
    return this;
  }
}

class Menu {
  constructor() {
    this.element = document.createElement("div");
    this.element.className = "menu";
  }
  addItem(fill) {
    fill(new MenuItem(this));
    return this;
  }
  showAtMouseEvent(event) {
    event.preventDefault();
    document.querySelector(".menu")?.remove();
    if (!this.element.childElementCount) return this;
    document.body.append(this.element);
    const [left, top] = [innerWidth - this.element.offsetWidth, innerHeight - this.element.offsetHeight];
    this.element.setCssStyles({ left: `${Math.min(event.x, left)}px`, top: `${Math.min(event.y, top)}px` });
    document.addEventListener("mousedown", (away) => {
      if (!this.element.contains(away.target)) this.element.remove();
    });
    return this;
  }
}

// ---------------------------------------------------------------- files

class TFile {
  constructor(path) { this.path = path; }
}

class TFolder {
  constructor(path) { this.path = path; }
  isRoot() { return this.path === "/"; }
}

class FileSystemAdapter {
  getBasePath() { return "/vault"; }
}

class Vault extends Events {
  adapter = new FileSystemAdapter();
  texts = new Map();
  files = new Map();
  saves = 0;
  add(path, text) {
    this.files.set(path, new TFile(path));
    this.texts.set(path, text);
  }
  async cachedRead(file) { return this.texts.get(file.path); }
  getFileByPath(path) { return this.files.get(path) ?? null; }
  rename(path, to) {
    const file = this.files.get(path);
    file.path = to;
    this.files.set(to, file);
    this.files.delete(path);
    this.trigger("rename", file, path);
  }
}

// As much of Obsidian's cache as the plugin looks at: headings, list items, and blocks between empty lines. It has the text
// that was saved, a moment later.
class MetadataCache extends Events {
  caches = new Map();
  getFileCache(file) {
    if (!this.caches.has(file)) this.caches.set(file, this.parse(app.vault.texts.get(file.path)));
    return this.caches.get(file);
  }
  update(file) {
    window.setTimeout(() => {
      this.caches.delete(file);
      this.trigger("changed", file);
    });
  }
  parse(saved) {
    const [headings, listItems, sections] = [[], [], []];
    const lines = saved.split("\n");
    const at = (start, end) => ({ position: { start: { line: start }, end: { line: end } } });
    let begun = 0;
    lines.forEach((text, line) => {
      const marks = /^(#{1,6}) /.exec(text);
      if (marks) headings.push({ level: marks[1].length, ...at(line, line) });
      if (text.startsWith("- ")) listItems.push(at(line, line));
      if (!text) begun = line + 1;
      else if (!lines[line + 1]) sections.push(at(begun, line));
    });
    return { headings, listItems, sections };
  }
}

// ---------------------------------------------------------------- views

class View {
  constructor(leaf) {
    this.leaf = leaf;
    this.app = app;
    this.containerEl = document.createElement("div");
    this.containerEl.className = "view";
  }
  registerDomEvent(element, type, callback, options) { element.addEventListener(type, callback, options); }
  async onOpen() {}
  async onClose() {}
}

class ItemView extends View {
  constructor(leaf) {
    super(leaf);
    this.contentEl = this.containerEl.createDiv({ cls: "view-content" });
  }
}

class MarkdownEditor {
  constructor(cm) { this.cm = cm; }
  spot(offset) {
    const line = this.cm.state.doc.lineAt(offset);
    return { line: line.number - 1, ch: offset - line.from };
  }
  offset({ line, ch }) {
    const found = this.cm.state.doc.line(line + 1);
    return Math.min(found.from + ch, found.to);
  }
  getCursor(side = "head") { return this.spot(this.cm.state.selection.main[side]); }
  getSelection() {
    const { from, to } = this.cm.state.selection.main;
    return this.cm.state.sliceDoc(from, to);
  }
  somethingSelected() { return this.cm.state.selection.ranges.some((range) => !range.empty); }
  getValue() { return this.cm.state.doc.toString(); }
  getLine(line) { return this.cm.state.doc.line(line + 1).text; }
  lineCount() { return this.cm.state.doc.lines; }
  setCursor(place) { this.cm.dispatch({ selection: { anchor: this.offset(place) } }); }
  scrollIntoView(range, center) {
    this.cm.dispatch({ effects: EditorView.scrollIntoView(this.offset(range.from), { y: center ? "center" : "nearest" }) });
  }
}

class FileView extends ItemView {
  file = null;
}

class PictureView extends FileView {
  getViewType() { return "image"; }
  getDisplayText() { return this.file?.path ?? ""; }
  open(file) { this.file = file; }
}

class MarkdownView extends FileView {
  mode = "source";
  getViewType() { return "markdown"; }
  getDisplayText() { return this.file.path; }
  getMode() { return this.mode; }
  async save() {
    app.vault.saves += 1;
    app.vault.texts.set(this.file.path, this.editor.getValue());
    app.metadataCache.update(this.file);
  }
  open(file) {
    this.file = file;
    this.contentEl.replaceChildren();
    const extensions = [history(), markdown(), keymap.of(defaultKeymap), EditorView.lineWrapping, ...app.extensions];
    const state = EditorState.create({ doc: app.vault.texts.get(file.path), extensions });
    this.editor = new MarkdownEditor(new EditorView({ state, parent: this.contentEl }));
    this.editor.cm.contentDOM.addEventListener("contextmenu", (event) => {
      const menu = new Menu();
      app.workspace.trigger("editor-menu", menu, this.editor, this);
      menu.showAtMouseEvent(event);
    });
  }
}

class TerminalView extends ItemView {
  getViewType() { return "terminal"; }
  getDisplayText() { return "Terminal"; }
  async onOpen() { this.contentEl.createEl("textarea", { attr: { "aria-label": "Terminal" } }); }
}

// What Obsidian shows in the place of a view whose plugin is off.
class UnknownView extends ItemView {
  constructor(leaf, type) {
    super(leaf);
    this.type = type;
    this.contentEl.setText("This plugin is not active.");
  }
  getViewType() { return this.type; }
  getDisplayText() { return "Plugin no longer active"; }
}

class WorkspaceLeaf {
  getRoot() { return this.root; }
  get panes() { return document.getElementById(this.root === "right" ? "right" : "panes"); }
  constructor(root = "main") {
    this.root = root;
    this.tab = document.getElementById("tabs").createEl("button");
    this.tab.addEventListener("click", () => app.workspace.revealLeaf(this));
    this.view = null;
  }
  getViewState() {
    return { type: this.view.getViewType(), state: this.view.file ? { file: this.view.file.path } : {} };
  }
  async setViewState({ type, active }) {
    this.put(app.views.get(type)(this));
    await this.view.onOpen();
    if (active) app.workspace.activate(this);
    app.workspace.trigger("layout-change");
  }
  async openFile(file) {
    const View = file.path.endsWith(".md") ? MarkdownView : PictureView;
    if (!(this.view instanceof View)) this.put(new View(this));
    this.view.open(file);
    this.tab.textContent = file.path;
    app.workspace.activate(this);
    app.workspace.trigger("file-open", file);
    app.workspace.trigger("layout-change");
  }
  put(made) {
    this.view?.containerEl.remove();
    this.view = made;
    this.tab.textContent = made.getViewType() === "markdown" ? "" : made.getDisplayText();
    made.containerEl.hidden = true;
    this.panes.append(made.containerEl);
  }
  detach() {
    this.view.onClose();
    this.view.containerEl.remove();
    this.tab.remove();
    const { workspace } = app;
    workspace.leaves = workspace.leaves.filter((each) => each !== this);
    document.getElementById("right").hidden = !workspace.leaves.some((leaf) => leaf.root === "right");
    if (workspace.active === this) workspace.activate(workspace.leaves.at(-1) ?? null);
    workspace.trigger("layout-change");
  }
}

class Workspace extends Events {
  rootSplit = "main";
  leaves = [];
  active = null;
  recent = null; // in the main part
  activate(leaf) {
    this.active = leaf;
    if (leaf?.root !== "right") this.recent = leaf;
    this.uncover(leaf);
    if (leaf?.view instanceof MarkdownView) leaf.view.editor.cm.focus();
    this.trigger("active-leaf-change", leaf);
  }
  uncover(leaf) {
    for (const each of this.leaves) {
      each.tab.className = each === this.active ? "active" : "";
      if (each.root === leaf?.root) each.view.containerEl.hidden = each !== leaf;
    }
    if (leaf?.root === "right") document.getElementById("right").hidden = false;
  }
  onLayoutReady(callback) { callback(); }
  async ensureSideLeaf(type, side, { active, reveal }) {
    const leaf = new WorkspaceLeaf(side);
    this.leaves.push(leaf);
    await leaf.setViewState({ type, active });
    if (reveal) await this.revealLeaf(leaf);
    return leaf;
  }
  getLeaf(kind) {
    const free = this.leaves.find((leaf) => leaf === this.active && leaf.view instanceof MarkdownView);
    if (free && kind !== "tab") return free;
    const leaf = new WorkspaceLeaf();
    this.leaves.push(leaf);
    return leaf;
  }
  getLeavesOfType(type) { return this.leaves.filter((leaf) => leaf.view?.getViewType() === type); }
  getActiveViewOfType(type) { return this.active?.view instanceof type ? this.active.view : null; }
  getMostRecentLeaf() { return this.recent; }
  getActiveFile() { return this.recent?.view.file ?? null; }
  detachLeavesOfType(type) { for (const leaf of this.getLeavesOfType(type)) leaf.detach(); }
  setActiveLeaf(leaf) { this.activate(leaf); }
  async revealLeaf(leaf) { if (leaf.root === "right") this.uncover(leaf); else this.activate(leaf); }
}

// ---------------------------------------------------------------- plugins

class Control {
  constructor(element) { this.element = element; }
  setPlaceholder(words) {
    this.element.placeholder = words;
    return this;
  }
  setValue(value) {
    this.element[this.element.type === "checkbox" ? "checked" : "value"] = value;
    return this;
  }
  onChange(callback) {
    const { element } = this;
    element.addEventListener("input", () => callback(element.type === "checkbox" ? element.checked : element.value));
    return this;
  }
}

class Setting {
  constructor(container) {
    this.element = container.createEl("label", { cls: "setting" });
    this.name = this.element.createEl("strong");
    this.desc = this.element.createEl("p");
  }
  setName(words) {
    this.name.setText(words);
    return this;
  }
  setDesc(words) {
    this.desc.setText(words);
    return this;
  }
  add(type, fill) {
    fill(new Control(this.element.createEl("input", { attr: { type } })));
    return this;
  }
  addToggle(fill) { return this.add("checkbox", fill); }
  addText(fill) { return this.add("text", fill); }
}

class PluginSettingTab {
  containerEl = document.createElement("div");
}

class Plugin {
  ends = [];
  constructor() { this.app = app; }
  addSettingTab(tab) { app.settingTabs.push(tab); }
  async loadData() { return computer.data; }
  async saveData(data) { computer.data = data; }
  register(end) { this.ends.push(end); }
  registerEvent(handler) { this.register(() => { for (const each of [app.workspace, app.vault, app.metadataCache]) each.offref(handler); }); }
  registerDomEvent(element, type, callback) {
    element.addEventListener(type, callback);
    this.register(() => element.removeEventListener(type, callback));
  }
  registerView(type, create) {
    app.views.set(type, create);
    this.register(() => {
      app.views.delete(type);
      for (const leaf of app.workspace.getLeavesOfType(type)) leaf.put(new UnknownView(leaf, type));
    });
  }
  registerEditorExtension(extension) {
    app.extensions.push(extension);
    this.register(() => app.extensions.splice(app.extensions.indexOf(extension), 1));
  }
  addCommand(command) {
    app.commands.push(command);
    this.register(() => app.commands.splice(app.commands.indexOf(command), 1));
    return command;
  }
  addStatusBarItem() {
    const item = document.getElementById("status").createDiv({ cls: "status-bar-item" });
    this.register(() => item.remove());
    return item;
  }
  unload() {
    this.onunload();
    for (const end of this.ends) end();
  }
}

const app = {
  vault: new Vault(), workspace: new Workspace(), metadataCache: new MetadataCache(), views: new Map(), extensions: [],
  commands: [], hotkeys: new Map(), settingTabs: [],
  loadLocalStorage(key) { return computer.local[key] ?? null; },
  saveLocalStorage(key, data) { computer.local[key] = data; },
};
app.views.set("terminal", (leaf) => new TerminalView(leaf));

const isOffered = (command) => command.checkCallback?.(true) ?? true;
const run = (command) => (command.callback ?? (() => command.checkCallback(false)))();

// Hotkeys that the person has set, and a palette that runs the command typed into it.
document.addEventListener("keydown", (event) => {
  for (const command of app.commands) {
    const hotkey = command.hotkeys?.[0] ?? app.hotkeys.get(command.id);
    if (!hotkey) continue;
    const isMeant = event.ctrlKey === hotkey.modifiers.includes("Mod") && event.altKey === hotkey.modifiers.includes("Alt");
    if (!isMeant || event.key.toLowerCase() !== hotkey.key.toLowerCase()) continue;
    event.preventDefault();
    if (isOffered(command)) run(command);
  }
  const palette = document.getElementById("palette");
  if (event.ctrlKey && event.key === "p") {
    event.preventDefault();
    palette.hidden = false;
    palette.focus();
  } else if (event.key === "Enter" && !palette.hidden) {
    event.preventDefault();
    const wanted = palette.value;
    [palette.value, palette.hidden] = ["", true];
    run(app.commands.find((command) => command.name === wanted && isOffered(command)));
  }
}, true);

// What a test puts in the place of the computer: the file that tells how to reach the server.
const computer = { link: null, reads: 0, data: null, local: {}, program: null, started: [] };

// A program that runs until it is ended, or as a test says.
class Child extends Events {
  stdout = Object.assign(new Events(), { once: (...given) => this.stdout.on(...given), resume() {} });
  stderr = new Events();
  isKilled = false;
  kill() {
    this.isKilled = true;
    this.trigger("close", null);
  }
}

const modules = {
  obsidian: {
    FileSystemAdapter, FileView, ItemView, MarkdownView, Menu, Notice, Plugin, PluginSettingTab, Setting, TFile, TFolder, debounce,
  },
  "@codemirror/view": view,
  crypto: { createHash: () => ({ update: () => ({ digest: () => "0".repeat(64) }) }) },
  fs: {
    realpathSync: (place) => place,
    existsSync: (place) => place === computer.program?.[0],
    readFileSync: (place) => {
      if (place.endsWith("program.json")) {
        if (!computer.program) throw new Error("ENOENT");
        return JSON.stringify({ command: computer.program });
      }
      computer.reads += 1;
      if (!computer.link) throw new Error("ENOENT");
      return JSON.stringify(computer.link);
    },
  },
  os: { homedir: () => "/home/person" },
  child_process: {
    spawn: (program, given, options) => {
      const child = new Child();
      computer.started.push({ command: [program, ...given], options, child });
      return child;
    },
  },
  path: { isAbsolute: (place) => place.startsWith("/"), posix: { isAbsolute: () => false, join: (...parts) => parts.join("/"), resolve: (place) => place } },
};
globalThis.process = { env: {}, platform: "linux" };

globalThis.standIn = {
  app,
  computer,
  plugin: null,
  async start(notes, link) {
    computer.link = link;
    for (const [path, text] of Object.entries(notes)) app.vault.add(path, text);
    const module = { exports: {} };
    const text = await (await fetch("main.js")).text();
    new Function("require", "module", "exports", text)((name) => modules[name], module, module.exports);
    this.plugin = new module.exports.default();
    await this.plugin.onload();
  },
  async open(path) { await app.workspace.getLeaf("tab").openFile(app.vault.getFileByPath(path)); },
  commands() { return app.commands.filter(isOffered).map((command) => command.name); },
  fileMenu(path) {
    const menu = new Menu();
    const file = app.vault.getFileByPath(path) ?? new TFolder(path);
    app.workspace.trigger("file-menu", menu, file, "file-explorer-context-menu");
    menu.showAtMouseEvent(new MouseEvent("contextmenu"));
  },
  filesMenu(...paths) {
    const menu = new Menu();
    app.workspace.trigger("files-menu", menu, paths.map((path) => app.vault.getFileByPath(path)), "file-explorer-context-menu");
    menu.showAtMouseEvent(new MouseEvent("contextmenu"));
  },
  // The settings tab, as versions of the app before 1.13 show it, or else as later ones do.
  settings(isOld) {
    const [tab] = app.settingTabs;
    document.getElementById("settings")?.remove();
    const box = document.body.createDiv({ attr: { id: "settings" } });
    box.append(tab.containerEl);
    if (isOld) tab.display();
    else {
      tab.containerEl.replaceChildren();
      for (const { name, desc, render } of tab.getSettingDefinitions()) {
        render(new Setting(tab.containerEl).setName(name).setDesc(desc));
      }
    }
  },
  async openTerminal() {
    await app.workspace.getLeaf("tab").setViewState({ type: "terminal", active: true });
    app.workspace.active.view.contentEl.querySelector("textarea").focus();
  },
};
