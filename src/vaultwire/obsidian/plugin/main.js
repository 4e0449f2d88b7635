"use strict";
var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// src/main.ts
var main_exports = {};
__export(main_exports, {
  Starter: () => Starter,
  default: () => VaultwirePlugin,
  findCommand: () => findCommand,
  linkPlace: () => linkPlace,
  programPlace: () => programPlace
});
module.exports = __toCommonJS(main_exports);
var import_view = require("@codemirror/view");
var import_obsidian5 = require("obsidian");

// src/desk.ts
var isWaiting = (item) => item.state === "waiting" || item.state === "stale";
var CANNOT_UNDO = {
  refuse: "A refusal cannot be undone: the assistant is told of it."
};
var Desk = class {
  // what can be undone, the latest last
  constructor(send) {
    this.send = send;
  }
  send;
  items = [];
  waiting = 0;
  views = /* @__PURE__ */ new Set();
  underWay = /* @__PURE__ */ new Map();
  // by id: decided here, and not answered yet
  done = [];
  receive(message) {
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
  clear() {
    this.items = [];
    this.waiting = 0;
    this.underWay.clear();
    this.done.length = 0;
    this.each((view) => view.showItems());
  }
  item(id) {
    return this.items.find((item) => item.id === id);
  }
  show(id) {
    this.send({ type: "show", id });
  }
  askText(id, file) {
    this.send({ type: "text", id, file });
  }
  askPreview(id, file, text) {
    this.send({ type: "preview", id, file, text });
  }
  askHunks(id, file, from) {
    this.send({ type: "hunks", id, file, from });
  }
  isUnderWay(id) {
    return this.underWay.has(id);
  }
  /** Send a decision; false if one on this item is under way, so that nothing is decided twice. */
  decide(choice) {
    if (this.underWay.has(choice.id)) return false;
    this.underWay.set(choice.id, choice);
    this.send({ type: "decide", ...choice });
    return true;
  }
  /** Undo what was decided here last; return words if that cannot be. */
  undoLast() {
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
  madeBy(id, action) {
    if (action === "accept") return this.item(id)?.change ?? null;
    const number = Number(id.slice(1));
    const undoing = this.items.find((item) => item.undoes.includes(number));
    return undoing ? Number(undoing.id.slice(1)) : this.item(id)?.undone_by ?? null;
  }
  answered({ id, message, error, undo }) {
    const choice = this.underWay.get(id);
    this.underWay.delete(id);
    if (choice && !error) this.done.push({ choice, undo: undo ?? null });
    this.each((view) => {
      if (choice) view.showDecided(id, message, error);
      else view.showFailed(id, message);
    });
  }
  each(call) {
    for (const view of this.views) call(view);
  }
};

// src/link.ts
var import_fs2 = require("fs");

// src/messages.ts
var VERSION = 2;
var MAX_SELECTED = 1e5;

// src/places.ts
var import_crypto = require("crypto");
var import_fs = require("fs");
var import_os = require("os");
var path = __toESM(require("path"));
function statePlace(env = process.env, platform = process.platform, home = (0, import_os.homedir)()) {
  const paths = platform === "win32" ? path.win32 : path.posix;
  const xdg = (env.FLATPAK_ID ? env.HOST_XDG_STATE_HOME : env.XDG_STATE_HOME) || "";
  let state = paths.join(paths.isAbsolute(xdg) ? xdg : paths.join(home, ".local", "state"), "vaultwire");
  if (platform === "darwin") state = paths.join(home, "Library", "Application Support", "vaultwire");
  if (platform === "win32") state = paths.join(env.LOCALAPPDATA || paths.join(home, "AppData", "Local"), "vaultwire-state");
  if (env.VAULTWIRE_STATE) state = paths.resolve(env.VAULTWIRE_STATE.replace(/^~(?=[/\\]|$)/, () => home));
  return paths.join(state, "editor");
}
function linkPlace(vault, env = process.env, platform = process.platform, home = (0, import_os.homedir)()) {
  const paths = platform === "win32" ? path.win32 : path.posix;
  const real = platform === "win32" ? import_fs.realpathSync.native(vault) : (0, import_fs.realpathSync)(vault);
  const name = (0, import_crypto.createHash)("sha256").update(real).digest("hex").slice(0, 16);
  return paths.join(statePlace(env, platform, home), `plugin-${name}.json`);
}
function programPlace(env = process.env, platform = process.platform, home = (0, import_os.homedir)()) {
  const paths = platform === "win32" ? path.win32 : path.posix;
  return paths.join(statePlace(env, platform, home), "program.json");
}

// src/link.ts
var [FIRST_WAIT, LAST_WAIT] = [1e3, 3e4];
var Link = class {
  constructor(vault, owner) {
    this.vault = vault;
    this.owner = owner;
  }
  vault;
  owner;
  connected = false;
  socket = null;
  wait = FIRST_WAIT;
  retry = 0;
  ended = false;
  connect() {
    window.clearTimeout(this.retry);
    if (this.ended || this.socket) return;
    let address;
    try {
      address = JSON.parse((0, import_fs2.readFileSync)(linkPlace(this.vault), "utf8"));
      this.socket = new WebSocket(`ws://127.0.0.1:${Number(address.port)}/plugin?key=${encodeURIComponent(address.token)}`);
    } catch {
      this.owner.onNobody();
      this.connectLater();
      return;
    }
    let isKnown = false;
    this.socket.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (this.connected) this.owner.onMessage(message);
      else isKnown = this.greet(message, address) || isKnown;
    });
    this.socket.addEventListener("close", () => {
      const wasConnected = this.connected;
      this.socket = null;
      this.connected = false;
      if (this.ended) return;
      if (wasConnected) this.owner.onLost();
      else if (!isKnown) this.owner.onNobody();
      this.connectLater();
    });
  }
  /** Try again soon, as after a start of the server. */
  connectSoon() {
    this.wait = FIRST_WAIT;
    this.connectLater();
  }
  connectLater() {
    window.clearTimeout(this.retry);
    if (this.ended || this.socket) return;
    this.retry = window.setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }
  // Nothing is told before the other side has shown that it is the server: the port may since be somebody else's.
  greet(message, address) {
    const isServer = message.type === "hello" && message.answer === address.answer;
    if (!isServer || message.version !== VERSION) {
      if (isServer) this.owner.onOtherVersion();
      this.socket?.close();
      return isServer;
    }
    this.connected = true;
    this.wait = FIRST_WAIT;
    this.owner.onConnected();
    return true;
  }
  send(message) {
    if (this.connected) this.socket?.send(JSON.stringify(message));
  }
  end() {
    this.ended = true;
    window.clearTimeout(this.retry);
    this.socket?.close();
  }
};

// src/mentions.ts
var import_obsidian = require("obsidian");
var LAST_SAVE = 2e3;
var WHOLE = { first: 0, last: 0 };
var Mentions = class {
  constructor(plugin, sight, to) {
    this.plugin = plugin;
    this.sight = sight;
    this.to = to;
  }
  plugin;
  sight;
  to;
  register() {
    const { workspace } = this.plugin.app;
    this.plugin.addCommand({
      id: "tag",
      name: "Mention selection or note to assistant",
      checkCallback: (checking) => this.mentionFront(checking)
    });
    this.plugin.registerEvent(workspace.on("editor-menu", (menu, editor, info) => this.offerPart(menu, editor, info)));
    this.plugin.registerEvent(workspace.on("file-menu", (menu, file) => this.offerFiles(menu, [file])));
    this.plugin.registerEvent(workspace.on("files-menu", (menu, files) => this.offerFiles(menu, files)));
  }
  // What is in front may also be a picture, a PDF or a canvas.
  mentionFront(checking) {
    const other = this.plugin.app.workspace.getActiveViewOfType(import_obsidian.FileView);
    if (other && !(other instanceof import_obsidian.MarkdownView) && other.file) {
      if (!checking) this.to.mention(other.file.path, WHOLE);
      return true;
    }
    const view = this.sight.frontView();
    if (!view?.file) return false;
    if (!checking) void this.mentionSelection(view);
    return true;
  }
  async mentionSelection(view) {
    const isSelected = view.getMode() === "source" && view.editor.somethingSelected();
    await this.mentionLines(view, isSelected ? selectedLines(view.editor) : WHOLE);
  }
  async mentionLines(view, lines) {
    if (this.to.isConnected()) await view.save();
    if (view.file) this.to.mention(view.file.path, lines);
  }
  offer(menu, title, run) {
    if (this.to.isConnected()) menu.addItem((item) => item.setTitle(title).setIcon("at-sign").onClick(run));
  }
  offerFiles(menu, files) {
    const known = files.filter((file) => file instanceof import_obsidian.TFile || file instanceof import_obsidian.TFolder && !file.isRoot());
    if (!known.length) return;
    this.offer(menu, "Mention to assistant", () => known.forEach((file) => this.to.mention(file.path, WHOLE)));
  }
  // In the menu of an editor: the selection, or the section or block at the cursor.
  offerPart(menu, editor, view) {
    if (!(view instanceof import_obsidian.MarkdownView) || !view.file) return;
    if (editor.somethingSelected()) {
      this.offer(menu, "Mention selection to assistant", () => void this.mentionLines(view, selectedLines(editor)));
    } else if (/^#{1,6}\s/.test(editor.getLine(editor.getCursor().line))) {
      this.offer(menu, "Mention section to assistant", () => void this.mentionPart(view, sectionLines));
    } else if (editor.getLine(editor.getCursor().line).trim()) {
      this.offer(menu, "Mention block to assistant", () => void this.mentionPart(view, blockLines));
    }
  }
  async mentionPart(view, find) {
    if (!view.file) return;
    await this.refreshCache(view, view.file);
    const { editor } = view;
    const cache = this.plugin.app.metadataCache.getFileCache(view.file);
    const lines = find(cache, editor.getCursor().line, editor.lineCount());
    await this.mentionLines(view, lines ?? selectedLines(editor));
  }
  // The app's cache has the lines of what was saved. It saves two seconds after the last key.
  async refreshCache(view, file) {
    const { metadataCache, vault } = this.plugin.app;
    if (view.editor.getValue() === await vault.cachedRead(file)) return;
    const changed = new Promise((resolve) => {
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
};
function selectedLines(editor) {
  const [from, to] = [editor.getCursor("from"), editor.getCursor("to")];
  const last = to.ch === 0 && to.line > from.line ? to.line : to.line + 1;
  return { first: from.line + 1, last };
}
function sectionLines(cache, line, lineCount) {
  const headings = cache?.headings ?? [];
  const heading = headings.find(({ position }) => position.start.line === line);
  if (!heading) return null;
  const next = headings.find(({ level, position }) => position.start.line > line && level <= heading.level);
  return { first: line + 1, last: next ? next.position.start.line : lineCount };
}
function blockLines(cache, line, _lineCount) {
  const holds = ({ position }) => position.start.line <= line && line <= position.end.line;
  const block = cache?.listItems?.find(holds) ?? cache?.sections?.find(holds);
  return block ? { first: block.position.start.line + 1, last: block.position.end.line + 1 } : null;
}

// src/pane.ts
var import_obsidian2 = require("obsidian");

// src/diff.ts
var SIGNS = { same: " ", removed: "−", added: "+", gap: "⋯" };
var SPOKEN = { same: "", removed: "Removed: ", added: "Added: ", gap: "" };
function showHead(into, file) {
  const head = into.createDiv({ cls: "vaultwire-file-head" });
  head.createEl("strong", { text: nameOf(file) });
  if (file.is_new) head.createSpan({ cls: "vaultwire-badge", text: "New note" });
  if (file.action === "remove") head.createSpan({ cls: "vaultwire-badge", text: "Removed" });
  const counts = head.createSpan({ cls: "vaultwire-counts" });
  counts.createSpan({ text: `+${file.added}`, attr: { role: "img", "aria-label": `${file.added} lines added` } });
  counts.createSpan({ text: `−${file.removed}`, attr: { role: "img", "aria-label": `${file.removed} lines removed` } });
  return head;
}
function showFacts(into, file) {
  if (file.rewritten_links) {
    into.createDiv({ cls: "vaultwire-told", text: `${count(file.rewritten_links, "link was", "links were")} rewritten.` });
  }
  for (const { words } of file.notices) into.createDiv({ cls: "vaultwire-notice", text: words });
  for (const property of file.properties) showProperty(into, property);
  for (const { line, words } of file.links) into.createDiv({ cls: "vaultwire-told", text: line ? `Line ${line}: ${words}` : words });
  for (const { words } of file.nodes) into.createDiv({ cls: "vaultwire-told", text: words });
  if (file.kind === "image" || file.kind === "binary") {
    const what = file.kind === "image" ? "picture" : "file that is not text";
    into.createDiv({ cls: "vaultwire-told", text: `This is a ${what}. The desk in the browser shows what it can of it.` });
  }
}
function nameOf(file) {
  return file.to && file.to !== file.path ? `${file.path} → ${file.to}` : file.path;
}
function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}
function showProperty(into, { name, old, new: now }) {
  const row = into.createDiv({ cls: "vaultwire-property" });
  row.createSpan({ cls: "vaultwire-property-name", text: `${name}: ` });
  if (old) row.createEl("del", { text: old.text || "(empty)" });
  else row.createSpan({ text: "(none)" });
  row.createSpan({ text: " → " });
  if (now) row.createEl("ins", { text: now.text || "(empty)" });
  else row.createSpan({ text: "(none)" });
  const types = [...new Set([old?.type, now?.type].filter((type) => type))].join(" → ");
  if (types) row.createSpan({ cls: "vaultwire-type", text: ` ${types}` });
}
function showRows(into, hunk) {
  const rows = into.createDiv({ cls: `vaultwire-rows vaultwire-of-${hunk.kind}` });
  for (const row of hunk.rows) {
    if (row.kind === "changed") {
      showLine(rows, "removed", row.old, row.parts, row.new_parts ? "" : row.note);
      if (row.new_parts) showLine(rows, "added", row.new, row.new_parts, row.note);
    } else showLine(rows, row.kind, row.kind === "removed" ? row.old : row.new, row.parts, row.note);
  }
}
function showLine(into, kind, number, parts, note) {
  const line = into.createDiv({ cls: `vaultwire-row vaultwire-${kind}` });
  line.createSpan({ cls: "vaultwire-number", text: number === null ? "" : String(number), attr: { "aria-hidden": "true" } });
  line.createSpan({ cls: "vaultwire-sign", text: SIGNS[kind], attr: { "aria-hidden": "true" } });
  const text = line.createSpan({ cls: "vaultwire-text" });
  if (SPOKEN[kind]) text.createSpan({ cls: "vaultwire-spoken", text: SPOKEN[kind] });
  for (const part of parts) showPart(text, part);
  if (note) text.createSpan({ cls: "vaultwire-note", text: note });
}
function showPart(into, { t, op, hidden, lookalike }) {
  const at = op === "=" ? into : into.createEl(op === "+" ? "ins" : "del");
  if (hidden) at.createSpan({ cls: "vaultwire-hidden", text: hidden });
  else if (lookalike) {
    at.createSpan({ cls: "vaultwire-lookalike", text: t });
    at.createSpan({ cls: "vaultwire-hidden", text: lookalike });
  } else at.createSpan({ text: t });
}

// src/file_editor.ts
var FileEditor = class {
  // a text area drops carriage returns
  constructor(text, preview, changed, cancel) {
    this.changed = changed;
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
  changed;
  element;
  isUnseen = false;
  // edited, and the difference was not shown since
  area;
  shown;
  show;
  first;
  isCrlf;
  /** The text as edited; null if it is as it was proposed. */
  get edited() {
    return this.area.value === this.first ? null : this.text();
  }
  focus() {
    if (this.shown.hidden) this.area.focus();
    else this.show.focus();
  }
  showPreview(file) {
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
  back() {
    this.shown.hidden = true;
    this.area.hidden = false;
    this.show.setText("Show the difference");
    this.area.focus();
  }
  text() {
    return this.isCrlf ? this.area.value.replace(/\n/g, "\r\n") : this.area.value;
  }
};

// src/card.ts
var STATES = {
  waiting: "waits for you",
  stale: "waits for you, but the note has changed since",
  withdrawn: "withdrawn by the assistant"
};
var UNDOABLE = ["made", "undone in part", "accepted", "accepted as edited"];
var KINDS = { change: "change", held: "proposal", diff: "proposal" };
var HUNK_STATES = { made: "", waiting: "", kept: "kept", undone: "undone" };
var WORDS = { keep: "Keep", unkeep: "Keep no more", undo: "Undo", accept: "Accept", refuse: "Refuse", move_back: "Move it back" };
var Card = class {
  // why the last decision was not carried out
  constructor(item, desk) {
    this.item = item;
    this.desk = desk;
    this.element = createEl("article");
    this.element.dataset.id = item.id;
    this.element.tabIndex = -1;
    const name = `vaultwire-${item.id}`;
    this.element.setAttribute("aria-labelledby", name);
    this.head = this.element.createEl("button", { cls: "vaultwire-item", attr: { id: name, "data-key": "item" } });
    this.head.addEventListener("click", () => this.open(!this.isOpen));
    this.body = this.element.createDiv({ cls: "vaultwire-detail" });
    this.showHead();
    this.open(false);
  }
  item;
  desk;
  element;
  isOpen = false;
  detail = null;
  head;
  body;
  editors = /* @__PURE__ */ new Map();
  reason = "";
  failure = "";
  /** The item as the server has it now. */
  update(item) {
    if (JSON.stringify(item) === JSON.stringify(this.item)) return;
    this.item = item;
    this.showHead();
    if (this.isOpen) this.desk.show(item.id);
    else this.detail = null;
  }
  open(isOpen) {
    this.isOpen = isOpen;
    this.body.hidden = !isOpen;
    this.head.ariaExpanded = String(isOpen);
    this.element.toggleClass("is-open", isOpen);
    if (!isOpen) return;
    if (!this.detail) this.body.setText("Reading…");
    this.desk.show(this.item.id);
  }
  get isEditing() {
    return this.editors.size > 0;
  }
  focus() {
    this.head.focus();
    this.head.scrollIntoView({ block: "nearest" });
  }
  showDetail(detail) {
    this.detail = detail;
    this.showBody();
  }
  showText(file, text) {
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
  showPreview(file) {
    this.editors.get(file.index)?.showPreview(file);
  }
  showHunks(more) {
    const file = this.detail?.files.find(({ index }) => index === more.index);
    const [first] = more.hunks;
    if (!file || !first || file.next_hunk !== first.index) return;
    file.hunks.push(...more.hunks);
    file.next_hunk = more.next_hunk;
    this.showBody();
    this.focusKey(`hunk:${file.index}:${first.index}`);
  }
  showDecided(words, isError) {
    this.failure = isError ? words : "";
    if (!isError) this.editors.clear();
    this.showBody();
    if (this.isOpen) this.desk.show(this.item.id);
  }
  showFailed(words) {
    this.failure = words;
    if (this.detail) this.showBody();
    else this.body.setText(words);
  }
  /** Decide about what has the focus: the hunk or the file, or else the item. */
  decideFocused(wants) {
    const focused = activeDocument.activeElement?.closest("[data-part]");
    const part = focused && this.element.contains(focused) ? JSON.parse(focused.dataset.part ?? "{}") : {};
    if (!this.isOpen) {
      this.open(true);
      return "Look at it first: it is open now. Press the key once more to decide.";
    }
    if (!this.detail) return "It is still being read.";
    if (isWaiting(this.item)) {
      if (wants === "no") return this.decide("refuse");
      if (part.file !== void 0 && this.actions(part).includes("accept")) return this.decide("accept", part);
      return this.isUnseen() ? "Show the difference of what you have edited first." : this.decide("accept");
    }
    const action = wants === "yes" ? "keep" : "undo";
    if (!this.actions(part).includes(action)) return `There is nothing to ${action} here.`;
    return this.decide(action, part);
  }
  /** Edit the file that has the focus, or the first one that can be edited. */
  editFocused() {
    if (!this.isOpen) this.open(true);
    const focused = activeDocument.activeElement?.closest("[data-file]")?.dataset.file;
    const file = this.detail?.files.find((each) => this.canEdit(each) && (focused === void 0 || each.index === Number(focused)));
    if (!file) return isWaiting(this.item) ? "It is still being read, or cannot be edited." : "Only what waits can be edited.";
    this.edit(file);
    return "";
  }
  edit(file) {
    const there = this.editors.get(file.index);
    if (there) there.focus();
    else this.desk.askText(this.item.id, file.index);
  }
  canEdit(file) {
    return isWaiting(this.item) && file.action !== "remove" && (file.kind === "note" || file.kind === "text" || file.kind === "canvas");
  }
  isUnseen() {
    return [...this.editors.values()].some((editor) => editor.isUnseen);
  }
  edited() {
    const texts = [...this.editors].flatMap(([file, editor]) => editor.edited === null ? [] : [[String(file), editor.edited]]);
    return Object.fromEntries(texts);
  }
  // What can be done with a file or a hunk of what waits; with the item, a file or a hunk of a change that was made.
  actions({ file, hunk }) {
    const { item, detail } = this;
    if (detail && isWaiting(item)) return this.canAcceptPart(detail, file) ? ["accept"] : [];
    if (!detail || !UNDOABLE.includes(item.state)) return [];
    const hunks = detail.files.find((each) => each.index === file)?.hunks ?? [];
    const state = hunk === void 0 ? "" : hunks.find((each) => each.index === hunk)?.state ?? "";
    if (state === "undone") return [];
    const isKept = hunk === void 0 ? file === void 0 ? item.is_reviewed : hunks.length > 0 && hunks.every((each) => each.state !== "made") : state === "kept";
    return [...isKept ? [] : ["keep"], ...detail.can_undo ? ["undo"] : []];
  }
  // Links follow a move, and an undo is one change: such a proposal is accepted as a whole. What is edited is one text.
  canAcceptPart({ files }, index) {
    const file = files.find((each) => each.index === index);
    const moves = files.filter(({ action }) => action === "move").length;
    return this.item.kind === "held" && !this.item.undoes.length && (moves === 0 || moves === files.length) && file !== void 0 && !file.now && !this.isEditing;
  }
  decide(action, part = {}) {
    const choice = { id: this.item.id, action, ...part };
    const edited = this.edited();
    if (action === "accept" && Object.keys(edited).length) choice.edited = edited;
    if (action === "refuse" && this.reason.trim()) choice.reason = this.reason.trim();
    this.failure = "";
    if (!this.desk.decide(choice)) return "Your last decision on it is still under way.";
    this.element.toggleClass("is-under-way", true);
    return "";
  }
  // ---------------------------------------------------------------- elements
  showHead() {
    const { item } = this;
    this.head.empty();
    this.head.createSpan({ cls: "vaultwire-summary", text: item.summary });
    const state = item.state === "made" && item.is_reviewed ? "kept" : STATES[item.state] ?? item.state;
    const about = [KINDS[item.kind], item.client, timeOf(item.time)].filter((words) => words).join(" · ");
    this.head.createSpan({ cls: `vaultwire-state${isWaiting(item) ? " is-waiting" : ""}`, text: state });
    this.head.createSpan({ cls: "vaultwire-about", text: about });
  }
  // The focus stays where it was: on the same button, or on what it was about if the button has gone.
  showBody() {
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
    if (focused.isConnected) focused.focus();
    else this.focusKey(key);
  }
  offerWayBack(path2) {
    const words = "You can move the note back: all links follow, and what was written since stays. ";
    const notice = this.body.createDiv({ cls: "vaultwire-told", text: words });
    this.button(notice, `Move it back to ${path2}`, "item:back", this.item.summary, () => void this.decide("move_back"));
  }
  showFile(file) {
    const section = this.body.createEl("section", { attr: { "aria-label": nameOf(file), "data-file": String(file.index) } });
    const head = showHead(section, file);
    const part = { file: file.index };
    if ((this.detail?.files.length ?? 0) > 1) {
      section.dataset.part = JSON.stringify(part);
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
  showHunk(section, file, hunk, place) {
    const key = `hunk:${file.index}:${hunk.index}`;
    const [start, lines] = hunk.new_lines ? [hunk.new_start, hunk.new_lines] : [hunk.old_start, hunk.old_lines];
    const where = lines > 1 ? `lines ${start} to ${start + lines - 1}` : `line ${start}`;
    const state = HUNK_STATES[hunk.state];
    const name = `hunk ${place + 1} of ${file.hunk_count}, ${where} of ${nameOf(file)}`;
    const part = { file: file.index, hunk: hunk.index };
    const at = section.createDiv({ cls: `vaultwire-hunk is-${hunk.state}`, attr: {
      "role": "group",
      "tabindex": "-1",
      "aria-label": state ? `${name}, ${state}` : name,
      "data-key": key,
      "data-part": JSON.stringify(part)
    } });
    showRows(at, hunk);
    const foot = at.createDiv({ cls: "vaultwire-hunk-foot" });
    foot.createSpan({ cls: "vaultwire-hunk-state", text: state });
    if (file.hunk_count > 1 && !hunk.is_continued) this.offer(foot, part, key, name);
  }
  offer(into, part, key, name) {
    for (const action of this.actions(part)) {
      const word = action !== "accept" ? WORDS[action] : part.hunk === void 0 ? "Accept this file" : "Accept this";
      this.button(into, word, `${key}:${action}`, name, () => void this.decide(action, part));
    }
  }
  showFooter() {
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
      "type": "text",
      "placeholder": "Reason, for the assistant",
      "aria-label": `Reason to refuse: ${item.summary}`,
      "data-key": "item:reason"
    } });
    reason.value = this.reason;
    reason.addEventListener("input", () => {
      this.reason = reason.value;
    });
  }
  button(into, word, key, name, run) {
    const button = into.createEl("button", { text: word, attr: { "aria-label": `${word}: ${name}`, "data-key": key } });
    button.addEventListener("click", run);
    return button;
  }
  focusKey(key) {
    for (let wanted = key; wanted; wanted = wanted.slice(0, Math.max(wanted.lastIndexOf(":"), 0))) {
      const there = this.element.querySelector(`[data-key="${wanted}"]`);
      if (!there) continue;
      there.focus();
      return;
    }
    this.head.focus();
  }
};
function timeOf(time) {
  const when = new Date(time);
  const isToday = when.toDateString() === (/* @__PURE__ */ new Date()).toDateString();
  return when.toLocaleString(void 0, isToday ? { timeStyle: "short" } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

// src/pane.ts
var CHANGES = "vaultwire-changes";
var KEYS = "Keys: j, k next, previous · n, p next, previous hunk · a keep or accept · x undo or refuse · u undo my last action · e edit";
var ChangesView = class extends import_obsidian2.ItemView {
  // whether the pointer is in the pane
  constructor(leaf, desk, isConnected) {
    super(leaf);
    this.desk = desk;
    this.isConnected = isConnected;
  }
  desk;
  isConnected;
  cards = /* @__PURE__ */ new Map();
  words;
  news;
  list;
  said;
  armed = null;
  // the button to which the pointer has been moved
  isPointed = false;
  getViewType() {
    return CHANGES;
  }
  getDisplayText() {
    return "Changes by assistants";
  }
  getIcon() {
    return "file-diff";
  }
  async onOpen() {
    const { contentEl } = this;
    contentEl.addClass(CHANGES);
    contentEl.tabIndex = -1;
    const head = contentEl.createDiv({ cls: "vaultwire-head" });
    this.words = head.createEl("p");
    this.news = head.createEl("button", { cls: "vaultwire-news" });
    this.news.addEventListener("click", () => this.showAll());
    this.list = contentEl.createDiv({ cls: "vaultwire-list" });
    contentEl.createEl("p", { cls: "vaultwire-keys", text: `What waits is not written before you accept it. ${KEYS}` });
    this.said = contentEl.createDiv({ cls: "vaultwire-said", attr: { role: "status" } });
    this.guardPointer();
    this.registerDomEvent(contentEl, "keydown", (event) => this.press(event));
    this.desk.views.add(this);
    this.showItems();
  }
  async onClose() {
    this.desk.views.delete(this);
  }
  // A click counts only if the pointer was moved to the button that is there now. The second click of a double click, and a
  // click on what a new layout has put under the pointer, decide nothing.
  guardPointer() {
    const { contentEl } = this;
    const arm = (event) => {
      this.isPointed = event.pointerType !== "touch";
      this.armed = event.target instanceof Element ? event.target.closest("button") : null;
    };
    this.registerDomEvent(contentEl, "pointermove", arm);
    this.registerDomEvent(contentEl, "pointerdown", (event) => {
      if (event.pointerType === "touch") arm(event);
    });
    this.registerDomEvent(contentEl, "pointerleave", () => {
      this.isPointed = false;
      for (const { element } of this.cards.values()) element.setCssStyles({ minHeight: "" });
      this.showItems();
    });
    this.registerDomEvent(contentEl, "click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (!button || event.detail === 0) return;
      if (event.detail > 1 || this.armed !== button) event.stopPropagation();
      this.armed = null;
    }, true);
  }
  // ---------------------------------------------------------------- what the server says
  showItems() {
    const { items } = this.desk;
    const ids = new Set(items.map(({ id }) => id));
    for (const [id, card] of this.cards) if (!ids.has(id)) this.remove(id, card);
    const fresh = items.filter(({ id }) => !this.cards.has(id));
    for (const item of items) this.cards.get(item.id)?.update(item);
    const isHeld = this.isPointed && this.cards.size > 0 && fresh.length > 0;
    if (!isHeld) this.place();
    this.news.setText(`Show ${fresh.length} new`);
    this.news.toggleClass("is-offered", isHeld);
    this.words.setText(this.summary());
  }
  showDetail(detail) {
    this.change(detail.id, (card) => card.showDetail(detail));
  }
  showText(id, file, text) {
    this.change(id, (card) => card.showText(file, text));
  }
  showPreview(id, file) {
    this.change(id, (card) => card.showPreview(file));
  }
  showHunks(id, file) {
    this.change(id, (card) => card.showHunks(file));
  }
  showDecided(id, words, isError) {
    this.say(words);
    this.change(id, (card) => card.showDecided(words, isError));
  }
  showFailed(id, words) {
    this.say(words);
    this.change(id, (card) => card.showFailed(words));
  }
  summary() {
    if (!this.isConnected()) return "Vaultwire is not running.";
    const { items, waiting } = this.desk;
    if (waiting) return `${count(waiting, "item waits", "items wait")} for you.`;
    return items.length ? "Nothing waits for you." : "Nothing was changed yet.";
  }
  // While the pointer is in the pane, an item gets no smaller, so that no button of another one comes under the pointer.
  change(id, show) {
    const card = this.cards.get(id);
    if (!card) return;
    const { height } = card.element.getBoundingClientRect();
    if (this.isPointed && card.isOpen && height) card.element.setCssStyles({ minHeight: `${height}px` });
    show(card);
  }
  remove(id, card) {
    if (card.isEditing && this.isConnected()) return;
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
  place() {
    let before = this.list.firstElementChild;
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
  showAll() {
    this.place();
    this.news.toggleClass("is-offered", false);
    this.contentEl.focus();
  }
  say(words) {
    this.said.setText(words);
  }
  // ---------------------------------------------------------------- keys
  /** Open the first item that waits, or the latest, and give it the focus. Only at the person's wish. */
  begin() {
    this.showAll();
    const waiting = this.desk.items.find(({ state }) => state === "waiting" || state === "stale");
    const card = this.cards.get((waiting ?? this.desk.items[0])?.id ?? "");
    if (card) this.go(card);
    else this.contentEl.focus();
  }
  press(event) {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) {
      if (event.key === "Escape") this.current()?.focus();
      return;
    }
    if (event.repeat && event.key !== "j" && event.key !== "k") return;
    const run = this.key(event.key);
    if (!run) return;
    event.preventDefault();
    this.say(run() ?? "");
  }
  key(key) {
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
      e: () => card?.editFocused() ?? nothing
    }[key];
  }
  current() {
    return [...this.cards.values()].find(({ element }) => element.contains(activeDocument.activeElement));
  }
  ordered() {
    return [...this.list.children].flatMap((element) => {
      const card = [...this.cards.values()].find((each) => each.element === element);
      return card ? [card] : [];
    });
  }
  step(by) {
    const cards = this.ordered();
    const current = this.current();
    const place = current ? cards.indexOf(current) + by : by > 0 ? 0 : cards.length - 1;
    const card = cards[place];
    if (!card) return by > 0 ? "This is the last one." : "This is the first one.";
    if (current && !current.isEditing) current.open(false);
    this.go(card);
    return "";
  }
  go(card) {
    if (!card.isOpen) card.open(true);
    card.focus();
  }
  stepHunk(by) {
    const card = this.current();
    const hunks = card ? [...card.element.querySelectorAll(".vaultwire-hunk")] : [];
    const place = hunks.findIndex((hunk2) => hunk2.contains(activeDocument.activeElement));
    const hunk = hunks[place < 0 ? by > 0 ? 0 : hunks.length - 1 : place + by];
    if (!hunk) return hunks.length ? "This item has no further hunk." : "No hunk is shown.";
    hunk.focus();
    hunk.scrollIntoView({ block: "nearest" });
    return "";
  }
};

// src/seen.ts
var import_obsidian3 = require("obsidian");
var NOTHING = { path: "", text: "", start: [0, 0], end: [0, 0], tabs: [] };
var Sight = class {
  // the one in front, or the last that was
  constructor(app) {
    this.app = app;
  }
  app;
  view = null;
  /** The Markdown view in front; while another pane has the focus, a terminal perhaps, the last that was. */
  frontView() {
    const { workspace } = this.app;
    const leaves = workspace.getLeavesOfType("markdown");
    const recent = workspace.getMostRecentLeaf()?.view;
    const front = workspace.getActiveViewOfType(import_obsidian3.MarkdownView) ?? (recent instanceof import_obsidian3.MarkdownView ? recent : this.view);
    this.view = leaves.some((leaf) => leaf.view === front) ? front : null;
    return this.view;
  }
  look() {
    const view = this.frontView();
    const editor = view?.getMode() === "source" ? view.editor : null;
    const spot = (side) => {
      const { line, ch } = editor?.getCursor(side) ?? { line: 0, ch: 0 };
      return [line, ch];
    };
    return {
      path: (view ? view.file : this.app.workspace.getActiveFile())?.path ?? "",
      text: (editor?.getSelection() ?? "").slice(0, MAX_SELECTED),
      start: spot("from"),
      end: spot("to"),
      // From the leaves' states, not their views: tabs not looked at yet have none.
      tabs: this.app.workspace.getLeavesOfType("markdown").map((leaf) => leaf.getViewState().state?.file).filter((file) => typeof file === "string" && file !== "")
    };
  }
};

// src/settings.ts
var import_obsidian4 = require("obsidian");
var SettingsTab = class extends import_obsidian4.PluginSettingTab {
  constructor(plugin, settings) {
    super(plugin.app, plugin);
    this.settings = settings;
  }
  settings;
  /** Since 1.13 the app shows these rows itself, and finds them in its search. */
  getSettingDefinitions() {
    return this.rows();
  }
  /** For older versions of the app. */
  display() {
    this.containerEl.empty();
    for (const { name, desc, render } of this.rows()) render(new import_obsidian4.Setting(this.containerEl).setName(name).setDesc(desc));
  }
  rows() {
    const { settings } = this;
    return [
      { name: "Status", desc: settings.longState(), render: () => void 0 },
      {
        name: "Pause sharing",
        desc: "Assistants are not told which note is open or what you select. Changes are still shown here.",
        render: (setting) => void setting.addToggle((toggle) => toggle.setValue(settings.isPaused()).onChange((paused) => settings.setPaused(paused)))
      },
      {
        name: "Start the program on this computer",
        desc: "When no vaultwire runs for this vault, the plugin starts one: the program below, with the words ide --vault and the path of this vault. It ends that program when you turn the plugin off or close the window.",
        render: (setting) => void setting.addToggle((toggle) => toggle.setValue(settings.starting.isAsked).onChange((isAsked) => settings.setStarting({ ...settings.starting, isAsked })))
      },
      {
        name: "Program",
        desc: "The whole path of the program. Leave it empty for the one that has installed this plugin.",
        render: (setting) => void setting.addText((text) => text.setPlaceholder("/home/me/.local/bin/vaultwire").setValue(settings.starting.program).onChange((program) => settings.setStarting({ ...settings.starting, program })))
      }
    ];
  }
};

// src/starter.ts
var import_child_process = require("child_process");
var import_fs3 = require("fs");
var import_path = require("path");
var MAX_SAID = 2e3;
var NO_PROGRAM = "Vaultwire was not found. Run vaultwire plugin install, or give the path of the program in the settings.";
function findCommand(program) {
  const given = program.trim();
  if (given) {
    if (!(0, import_path.isAbsolute)(given)) return `Give the whole path of the program, not ${given}.`;
    return (0, import_fs3.existsSync)(given) ? [given] : `There is no program at ${given}.`;
  }
  try {
    const noted = JSON.parse((0, import_fs3.readFileSync)(programPlace(), "utf8"));
    const command = Array.isArray(noted.command) ? noted.command.filter((word) => typeof word === "string") : [];
    const [first] = command;
    if (first && (0, import_path.isAbsolute)(first)) return (0, import_fs3.existsSync)(first) ? command : `There is no program at ${first} any more. ${NO_PROGRAM}`;
    return NO_PROGRAM;
  } catch {
    return NO_PROGRAM;
  }
}
var Starter = class {
  // it is not tried again before the person asks for it
  constructor(vault, choice, onStarted, onFailed) {
    this.vault = vault;
    this.choice = choice;
    this.onStarted = onStarted;
    this.onFailed = onFailed;
  }
  vault;
  choice;
  onStarted;
  onFailed;
  child = null;
  hasFailed = false;
  get isRunning() {
    return this.child !== null;
  }
  /** Start it if that is asked for, it does not run, and it has not failed. */
  startIfAsked() {
    if (this.choice().isAsked && !this.hasFailed) this.start();
  }
  /** Start it now, as the person has just asked. */
  start() {
    if (this.child) return;
    const command = findCommand(this.choice().program);
    if (typeof command === "string") {
      this.fail(command);
      return;
    }
    const [program = "", ...first] = command;
    let said = "";
    const child = (0, import_child_process.spawn)(program, [...first, "ide", "--vault", this.vault, "--no-browser"], {
      shell: false,
      windowsHide: true,
      stdio: ["ignore", "pipe", "pipe"]
    });
    this.child = child;
    child.stdout.once("data", () => this.onStarted());
    child.stdout.resume();
    child.stderr.on("data", (piece) => {
      said = (said + String(piece)).slice(-MAX_SAID);
    });
    child.on("error", (error) => this.ended(child, `${program}: ${error.message}`));
    child.on("close", (code) => {
      const line = said.trim().split("\n").pop();
      this.ended(child, code ? line || `It ended with code ${code}.` : "");
    });
  }
  /** Try again at the next occasion, as after a change of the settings. */
  forgive() {
    this.hasFailed = false;
  }
  stop() {
    const { child } = this;
    this.child = null;
    child?.kill();
  }
  ended(child, why) {
    if (this.child !== child) return;
    this.child = null;
    if (why) this.fail(why);
  }
  fail(why) {
    this.hasFailed = true;
    this.onFailed(why);
  }
};

// src/main.ts
var QUIET = 50;
var MAX_NAME = 40;
var LASTING = 0;
var STARTING = "vaultwire-start";
var NO_ASSISTANT = "No assistant is connected. In Claude Code, type /ide and choose Obsidian.";
var NOT_RUNNING = "Vaultwire is not running. Start it with: vaultwire ide --vault PATH";
var OTHER_VERSION = "Vaultwire has changed: run vaultwire plugin install, and turn the plugin off and on again.";
var LOST = "Vaultwire is not connected any more. What waits stays with it.";
var PRIVATE = "Your policy keeps this note private.";
var VaultwirePlugin = class extends import_obsidian5.Plugin {
  desk = new Desk((message) => this.link?.send(message));
  sight = new Sight(this.app);
  link = null;
  // null before the layout is ready
  starter = null;
  starting = { isAsked: false, program: "" };
  known = /* @__PURE__ */ new Set();
  // ids of what waits
  notice = null;
  // of what waits
  paused = false;
  shared = null;
  // null: the server does not say
  seen = NOTHING;
  // what was told last
  told = "";
  warned = false;
  // that it is of another version
  push = (0, import_obsidian5.debounce)(() => this.tell(), QUIET, true);
  status;
  async onload() {
    await this.readSettings();
    this.status = this.addStatusBarItem();
    this.status.addClass("mod-clickable");
    this.status.setAttribute("data-tooltip-position", "top");
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
  onunload() {
    this.push.cancel();
    this.notice?.hide();
    this.link?.end();
    this.starter?.stop();
  }
  async onExternalSettingsChange() {
    await this.readSettings();
    this.tell();
    this.showStatus();
  }
  get connected() {
    return this.link?.connected ?? false;
  }
  isPaused() {
    return this.paused;
  }
  async readSettings() {
    const settings = await this.loadData();
    this.paused = settings?.paused === true;
    const starting = this.app.loadLocalStorage(STARTING);
    this.starting = { isAsked: starting?.isAsked === true, program: typeof starting?.program === "string" ? starting.program : "" };
  }
  setStarting(starting) {
    this.starting = starting;
    this.app.saveLocalStorage(STARTING, starting);
    this.starter?.forgive();
    if (!starting.isAsked) this.starter?.stop();
    else if (!this.connected) this.link?.connectSoon();
  }
  addCommands() {
    new Mentions(this, this.sight, {
      isConnected: () => this.connected,
      mention: (filePath, lines) => {
        if (!this.connected) new import_obsidian5.Notice(NOT_RUNNING);
        else this.link?.send({ type: "mention", path: filePath, ...lines });
      }
    }).register();
    this.addCommand({ id: "show-changes", name: "Show changes by assistants", callback: () => void this.showChanges() });
    for (const [id, name, paused] of [["pause", "Pause sharing", true], ["resume", "Resume sharing", false]]) {
      this.addCommand({
        id,
        name,
        checkCallback: (checking) => {
          if (this.paused === paused) return false;
          if (!checking) void this.setPaused(paused);
          return true;
        }
      });
    }
    this.addCommand({
      id: "start",
      name: "Start the program for this vault",
      checkCallback: (checking) => {
        if (this.connected || !this.starter || this.starter.isRunning) return false;
        if (!checking) this.starter.start();
        return true;
      }
    });
  }
  // Tell the server whenever what the person sees may be something else.
  watch() {
    const { vault, workspace } = this.app;
    this.registerEvent(workspace.on("active-leaf-change", () => this.push()));
    this.registerEvent(workspace.on("file-open", () => this.push()));
    this.registerEvent(workspace.on("layout-change", () => this.push()));
    this.registerEvent(vault.on("rename", () => this.push()));
    this.registerEditorExtension(import_view.EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.docChanged) this.push();
    }));
    this.registerDomEvent(window, "focus", () => this.link?.connect());
    this.registerDomEvent(window, "beforeunload", () => this.starter?.stop());
  }
  // ---------------------------------------------------------------- the server
  begin() {
    const { adapter } = this.app.vault;
    if (!(adapter instanceof import_obsidian5.FileSystemAdapter)) return;
    const vault = adapter.getBasePath();
    this.starter = new Starter(
      vault,
      () => this.starting,
      () => this.link?.connectSoon(),
      (why) => new import_obsidian5.Notice(`Vaultwire could not be started. ${why}`, LASTING)
    );
    this.link = new Link(vault, {
      onConnected: () => {
        this.told = "";
        this.showStatus();
        this.tell();
      },
      onMessage: (message) => this.receive(message),
      onOtherVersion: () => {
        if (!this.warned) new import_obsidian5.Notice(OTHER_VERSION);
        this.warned = true;
      },
      onLost: () => {
        this.shared = null;
        if (this.desk.waiting) new import_obsidian5.Notice(LOST);
        this.desk.clear();
      },
      onNobody: () => this.starter?.startIfAsked()
    });
    this.link.connect();
  }
  receive(message) {
    if (message.type === "open") void this.openNote(message.path, message.line);
    else if (message.type === "shared") {
      this.shared = message;
      this.showStatus();
    } else if (message.type === "mentioned") {
      if (message.outcome === "nobody") new import_obsidian5.Notice(NO_ASSISTANT);
      else if (message.outcome === "private") new import_obsidian5.Notice(PRIVATE);
    } else this.desk.receive(message);
  }
  // ---------------------------------------------------------------- status
  showStatus() {
    const count2 = this.desk.waiting;
    this.status.setText(count2 ? `Vaultwire: ${count2} ${count2 === 1 ? "waits" : "wait"}` : this.shortState());
    this.status.ariaLabel = count2 ? "Show what waits for you" : this.longState();
  }
  shortState() {
    if (!this.connected) return "Vaultwire off";
    if (this.paused) return "Vaultwire paused";
    if (!this.shared) return "Vaultwire";
    if (!this.shared.clients.length) return "Vaultwire: no assistant";
    const name = this.shared.path.split("/").pop() ?? "";
    const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
    return name ? `Assistant sees ${short}${this.selection()}` : "Assistant sees no note";
  }
  longState() {
    if (!this.connected) return NOT_RUNNING;
    if (this.paused) return "Sharing is paused: assistants are not told which note is open.";
    if (!this.shared) return "Vaultwire is connected.";
    if (!this.shared.clients.length) return NO_ASSISTANT;
    const names = this.shared.clients.join(", ");
    if (this.shared.path) return `Connected: ${names}. Shared: ${this.shared.path}${this.selection()}`;
    return this.seen.path ? `Connected: ${names}. ${PRIVATE}` : `Connected: ${names}. No note is open.`;
  }
  selection() {
    const { path: path2, text, start, end } = this.seen;
    if (!text || path2 !== this.shared?.path) return "";
    const count2 = end[0] - start[0] + (end[1] === 0 && end[0] > start[0] ? 0 : 1);
    return count2 === 1 ? ", 1 line selected" : `, ${count2} lines selected`;
  }
  showMenu(event) {
    const menu = new import_obsidian5.Menu();
    menu.addItem((item) => item.setTitle(this.longState()).setIsLabel(true));
    menu.addItem((item) => item.setTitle("Show changes by assistants").setIcon("file-diff").onClick(() => this.showChanges()));
    menu.addItem((item) => item.setTitle(this.paused ? "Resume sharing" : "Pause sharing").setIcon(this.paused ? "play" : "pause").onClick(() => this.setPaused(!this.paused)));
    menu.showAtMouseEvent(event);
  }
  async setPaused(paused) {
    this.paused = paused;
    this.tell();
    this.showStatus();
    await this.saveData({ paused });
  }
  tell() {
    const seen = this.paused ? NOTHING : this.sight.look();
    const text = JSON.stringify(seen);
    if (!this.connected || text === this.told) return;
    [this.told, this.seen] = [text, seen];
    this.link?.send({ type: "state", ...seen });
    this.showStatus();
  }
  async openNote(notePath, line) {
    const file = this.app.vault.getFileByPath(notePath);
    if (!file) return;
    const { workspace } = this.app;
    const there = workspace.getLeavesOfType("markdown").find((leaf2) => leaf2.getViewState().state?.file === notePath);
    const leaf = there ?? workspace.getLeaf(false);
    if (!there) await leaf.openFile(file);
    await workspace.revealLeaf(leaf);
    workspace.setActiveLeaf(leaf, { focus: true });
    if (!(leaf.view instanceof import_obsidian5.MarkdownView) || line < 1) return;
    const { editor } = leaf.view;
    const place = { line: Math.min(line, editor.lineCount()) - 1, ch: 0 };
    editor.setCursor(place);
    editor.scrollIntoView({ from: place, to: place }, true);
  }
  // ---------------------------------------------------------------- what waits
  announcer() {
    return {
      showItems: () => {
        const waiting = this.desk.items.filter(isWaiting);
        const news = waiting.filter(({ id }) => !this.known.has(id));
        this.known = new Set(waiting.map(({ id }) => id));
        this.showStatus();
        if (!waiting.length) this.notice?.hide();
        if (news.length) this.announce(news);
      },
      showDetail: () => void 0,
      showText: () => void 0,
      showPreview: () => void 0,
      showHunks: () => void 0,
      showDecided: () => void 0,
      showFailed: () => void 0
    };
  }
  // A person who works in this window is told, and asks for the pane: one that opened by itself would disturb. In a window
  // without the focus it may open. It never takes the focus by itself, as keys decide in it.
  announce(news) {
    if (this.app.workspace.getLeavesOfType(CHANGES).some((leaf) => leaf.view.containerEl.isShown())) return;
    if (!activeDocument.hasFocus()) {
      void this.openPane();
      return;
    }
    const [first] = news;
    const text = news.length === 1 ? `Waits for you: ${first?.summary}. ` : `${news.length} changes wait for you. `;
    this.notice?.hide();
    this.notice = new import_obsidian5.Notice(createFragment((words) => {
      words.appendText(text);
      words.createEl("button", { text: "Show" }, (button) => {
        button.addEventListener("click", () => void this.showChanges());
      });
    }), LASTING);
  }
  async openPane() {
    this.notice?.hide();
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(CHANGES)[0] ?? await workspace.ensureSideLeaf(CHANGES, "right", { active: false, reveal: true });
    await workspace.revealLeaf(leaf);
    return leaf.view instanceof ChangesView ? leaf.view : null;
  }
  // At the person's wish: the pane takes the focus.
  async showChanges() {
    const view = await this.openPane();
    if (!view) return;
    this.app.workspace.setActiveLeaf(view.leaf, { focus: true });
    view.begin();
  }
};
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  Starter,
  findCommand,
  linkPlace,
  programPlace
});
