"use strict";
// Tells a vaultwire server on this computer what the person sees, and shows what it asks to be shown. It reads one file
// outside the vault, talks to this computer alone, and writes no note.
//
// main.ts is the source. main.js is made from it by the TypeScript compiler and is not edited.
Object.defineProperty(exports, "__esModule", { value: true });
exports.linkPlace = linkPlace;
const view_1 = require("@codemirror/view");
const crypto_1 = require("crypto");
const fs_1 = require("fs");
const obsidian_1 = require("obsidian");
const os_1 = require("os");
const path = require("path");
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
const NOTHING = { path: "", text: "", start: [0, 0], end: [0, 0], tabs: [] };
// Where the server of a vault says how to reach it. The recipe is `endpoint_path` in transports/lock_file.py, below the
// state folder of config.py (`_user_state`): <state>/editor/plugin-<16 digits of the SHA-256 of the vault's real path>.json.
function linkPlace(vault, env = process.env, platform = process.platform, home = (0, os_1.homedir)()) {
    const paths = platform === "win32" ? path.win32 : path.posix;
    const real = platform === "win32" ? fs_1.realpathSync.native(vault) : (0, fs_1.realpathSync)(vault);
    const name = (0, crypto_1.createHash)("sha256").update(real).digest("hex").slice(0, 16);
    // A Flatpak gives its app a state folder of its own; the server's is outside.
    const xdg = (env.FLATPAK_ID ? env.HOST_XDG_STATE_HOME : env.XDG_STATE_HOME) || "";
    let state = paths.join(paths.isAbsolute(xdg) ? xdg : paths.join(home, ".local", "state"), "vaultwire");
    if (platform === "darwin")
        state = paths.join(home, "Library", "Application Support", "vaultwire");
    if (platform === "win32")
        state = paths.join(env.LOCALAPPDATA || paths.join(home, "AppData", "Local"), "vaultwire-state");
    if (env.VAULTWIRE_STATE)
        state = paths.resolve(env.VAULTWIRE_STATE.replace(/^~(?=[/\\]|$)/, () => home));
    return paths.join(state, "editor", `plugin-${name}.json`);
}
class VaultwirePlugin extends obsidian_1.Plugin {
    view = null; // the one in front, or the last that was
    changes = []; // those that wait for the person
    notice = null; // of changes that wait
    socket = null;
    connected = false;
    paused = false;
    shared = null; // null: the server does not say
    seen = NOTHING; // what was told last
    told = "";
    wait = FIRST_WAIT;
    retry = 0;
    warned = false; // that it is of another version
    unloaded = false;
    push = (0, obsidian_1.debounce)(() => this.tell(), QUIET, true);
    status;
    async onload() {
        await this.readSettings(); // before anything is told
        this.status = this.addStatusBarItem();
        this.status.addClass("mod-clickable");
        this.status.setAttribute("data-tooltip-position", "top"); // not below the window
        this.registerDomEvent(this.status, "click", (event) => {
            if (this.changes.length)
                void this.showChanges();
            else
                this.showMenu(event);
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
            if (file instanceof obsidian_1.TFile)
                this.offer(menu, "Mention to assistant", () => this.mention(file.path));
        }));
        this.registerEditorExtension(view_1.EditorView.updateListener.of((update) => {
            if (update.selectionSet || update.docChanged)
                this.push();
        }));
        // A person who has just started the server in a terminal comes back to this window: no need to wait.
        this.registerDomEvent(window, "focus", () => this.connect());
        this.showStatus();
        workspace.onLayoutReady(() => this.connect());
    }
    onunload() {
        this.unloaded = true; // what waits stays with the server, which has a page for it
        this.push.cancel();
        window.clearTimeout(this.retry);
        this.notice?.hide();
        this.socket?.close();
    }
    async onExternalSettingsChange() {
        await this.readSettings();
        this.tell();
        this.showStatus();
    }
    async readSettings() {
        const settings = (await this.loadData());
        this.paused = settings?.paused === true;
    }
    addCommands() {
        this.addCommand({
            id: "tag",
            name: "Mention selection or note to assistant",
            checkCallback: (checking) => {
                const view = this.frontView();
                if (!view?.file)
                    return false;
                if (!checking)
                    void this.mentionSelection(view);
                return true;
            },
        });
        this.addCommand({ id: "show-changes", name: "Show changes that wait", callback: () => void this.showChanges() });
        for (const [id, name, paused] of [["pause", "Pause sharing", true], ["resume", "Resume sharing", false]]) {
            this.addCommand({
                id,
                name,
                checkCallback: (checking) => {
                    if (this.paused === paused)
                        return false;
                    if (!checking)
                        void this.setPaused(paused);
                    return true;
                },
            });
        }
    }
    // ---------------------------------------------------------------- the link
    connect() {
        window.clearTimeout(this.retry);
        if (this.unloaded || this.socket)
            return;
        let link;
        try {
            const { adapter } = this.app.vault;
            if (!(adapter instanceof obsidian_1.FileSystemAdapter))
                return;
            link = JSON.parse((0, fs_1.readFileSync)(linkPlace(adapter.getBasePath()), "utf8"));
            this.socket = new WebSocket(`ws://127.0.0.1:${Number(link.port)}/plugin?key=${encodeURIComponent(link.token)}`);
        }
        catch {
            this.connectLater(); // no server runs
            return;
        }
        this.socket.addEventListener("message", (event) => {
            this.receive(JSON.parse(event.data), link);
        });
        this.socket.addEventListener("close", () => {
            this.socket = null;
            this.connected = false;
            this.shared = null;
            if (this.unloaded)
                return;
            if (this.changes.length)
                new obsidian_1.Notice(LOST);
            this.receiveChanges([]);
            this.connectLater();
        });
    }
    connectLater() {
        if (this.unloaded)
            return;
        this.retry = window.setTimeout(() => this.connect(), this.wait);
        this.wait = Math.min(this.wait * 2, LAST_WAIT);
    }
    receive(message, link) {
        if (!this.connected)
            this.greet(message, link);
        else if (message.type === "changes")
            this.receiveChanges(message.changes);
        else if (message.type === "open")
            void this.openNote(message.path, message.line);
        else if (message.type === "shared") {
            this.shared = message;
            this.showStatus();
        }
        else if (message.type === "mentioned" && message.outcome === "nobody")
            new obsidian_1.Notice(NO_ASSISTANT);
        else if (message.type === "mentioned" && message.outcome === "private")
            new obsidian_1.Notice(PRIVATE);
    }
    // Nothing is told before the other side has shown that it is the server: the port may since be somebody else's.
    greet(message, link) {
        const isServer = message.type === "hello" && message.answer === link.answer;
        if (!isServer || message.version !== VERSION) {
            if (isServer && !this.warned) {
                this.warned = true;
                new obsidian_1.Notice(OTHER_VERSION);
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
    send(message) {
        if (this.connected)
            this.socket?.send(JSON.stringify(message));
    }
    // ---------------------------------------------------------------- status
    showStatus() {
        const count = this.changes.length;
        this.status.setText(count ? `Vaultwire: ${count} to look at` : this.shortState());
        this.status.ariaLabel = count ? "Show changes that wait" : this.longState();
    }
    shortState() {
        if (!this.connected)
            return "Vaultwire off";
        if (this.paused)
            return "Vaultwire paused";
        if (!this.shared)
            return "Vaultwire";
        if (!this.shared.clients.length)
            return "Vaultwire: no assistant";
        const name = this.shared.path.split("/").pop() ?? "";
        const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
        return name ? `Assistant sees ${short}${this.selection()}` : "Assistant sees no note";
    }
    longState() {
        if (!this.connected)
            return NOT_RUNNING;
        if (this.paused)
            return "Sharing is paused: assistants are not told which note is open.";
        if (!this.shared)
            return "Vaultwire is connected.";
        if (!this.shared.clients.length)
            return NO_ASSISTANT;
        const names = this.shared.clients.join(", ");
        if (this.shared.path)
            return `Connected: ${names}. Shared: ${this.shared.path}${this.selection()}`;
        return this.seen.path ? `Connected: ${names}. ${PRIVATE}` : `Connected: ${names}. No note is open.`;
    }
    selection() {
        const { path: notePath, text, start, end } = this.seen;
        if (!text || notePath !== this.shared?.path)
            return "";
        const count = end[0] - start[0] + (end[1] === 0 && end[0] > start[0] ? 0 : 1); // as in selectedLines
        return count === 1 ? ", 1 line selected" : `, ${count} lines selected`;
    }
    showMenu(event) {
        const menu = new obsidian_1.Menu();
        menu.addItem((item) => item.setTitle(this.longState()).setIsLabel(true));
        menu.addItem((item) => item.setTitle("Show changes that wait").setIcon("file-diff").onClick(() => this.showChanges()));
        menu.addItem((item) => item
            .setTitle(this.paused ? "Resume sharing" : "Pause sharing")
            .setIcon(this.paused ? "play" : "pause")
            .onClick(() => this.setPaused(!this.paused)));
        menu.showAtMouseEvent(event);
    }
    async setPaused(paused) {
        this.paused = paused;
        this.tell(); // at once: it must not wait for the disk
        this.showStatus();
        await this.saveData({ paused }); // the server reads it, too, while the plugin is not connected
    }
    // ---------------------------------------------------------------- what the person sees
    // The Markdown view in front; while another pane has the focus, a terminal perhaps, the last that was.
    frontView() {
        const { workspace } = this.app;
        const leaves = workspace.getLeavesOfType("markdown");
        const recent = workspace.getMostRecentLeaf()?.view;
        const front = workspace.getActiveViewOfType(obsidian_1.MarkdownView) ?? (recent instanceof obsidian_1.MarkdownView ? recent : this.view);
        this.view = leaves.some((leaf) => leaf.view === front) ? front : null; // it may have been closed
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
            tabs: this.app.workspace.getLeavesOfType("markdown")
                .map((leaf) => leaf.getViewState().state?.file)
                .filter((file) => typeof file === "string" && file !== ""),
        };
    }
    tell() {
        const seen = this.paused ? NOTHING : this.look();
        const text = JSON.stringify(seen);
        if (!this.connected || text === this.told)
            return;
        [this.told, this.seen] = [text, seen];
        this.send({ type: "state", ...seen });
        this.showStatus(); // of the selection
    }
    async openNote(notePath, line) {
        const file = this.app.vault.getFileByPath(notePath);
        if (!file)
            return;
        const { workspace } = this.app;
        const there = workspace.getLeavesOfType("markdown").find((leaf) => leaf.getViewState().state?.file === notePath);
        const leaf = there ?? workspace.getLeaf(false);
        if (!there)
            await leaf.openFile(file);
        await workspace.revealLeaf(leaf);
        workspace.setActiveLeaf(leaf, { focus: true });
        if (!(leaf.view instanceof obsidian_1.MarkdownView) || line < 1)
            return;
        const { editor } = leaf.view;
        const place = { line: Math.min(line, editor.lineCount()) - 1, ch: 0 };
        editor.setCursor(place);
        editor.scrollIntoView({ from: place, to: place }, true);
    }
    // ---------------------------------------------------------------- mentions
    mention(filePath, lines = { first: 0, last: 0 }) {
        if (!this.connected)
            new obsidian_1.Notice(NOT_RUNNING);
        else
            this.send({ type: "mention", path: filePath, ...lines });
    }
    async mentionSelection(view) {
        const isSelected = view.getMode() === "source" && view.editor.somethingSelected();
        await this.mentionLines(view, isSelected ? selectedLines(view.editor) : undefined);
    }
    async mentionLines(view, lines) {
        if (this.connected)
            await view.save(); // the assistant reads the file
        if (view.file)
            this.mention(view.file.path, lines);
    }
    offer(menu, title, run) {
        if (this.connected)
            menu.addItem((item) => item.setTitle(title).setIcon("at-sign").onClick(run));
    }
    // In the menu of an editor: the selection, or the section or block at the cursor.
    offerPart(menu, editor, view) {
        if (!(view instanceof obsidian_1.MarkdownView) || !view.file)
            return;
        if (editor.somethingSelected()) {
            this.offer(menu, "Mention selection to assistant", () => void this.mentionLines(view, selectedLines(editor)));
        }
        else if (/^#{1,6}\s/.test(editor.getLine(editor.getCursor().line))) {
            this.offer(menu, "Mention section to assistant", () => void this.mentionPart(view, sectionLines));
        }
        else if (editor.getLine(editor.getCursor().line).trim()) {
            this.offer(menu, "Mention block to assistant", () => void this.mentionPart(view, blockLines));
        }
    }
    async mentionPart(view, find) {
        if (!view.file)
            return;
        await this.refreshCache(view, view.file);
        const { editor } = view;
        const lines = find(this.app.metadataCache.getFileCache(view.file), editor.getCursor().line, editor.lineCount());
        await this.mentionLines(view, lines ?? selectedLines(editor)); // the cursor's line, if the app knows no better
    }
    // The app's cache has the lines of what was saved. It saves two seconds after the last key.
    async refreshCache(view, file) {
        const { metadataCache, vault } = this.app;
        if (view.editor.getValue() === await vault.cachedRead(file))
            return;
        const changed = new Promise((resolve) => {
            const heard = metadataCache.on("changed", (of) => {
                if (of !== file)
                    return;
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
    receiveChanges(changes) {
        const known = new Set(this.changes.map((change) => change.id));
        const news = changes.filter((change) => !known.has(change.id));
        const { workspace } = this.app;
        this.changes = changes;
        this.showStatus();
        for (const leaf of workspace.getLeavesOfType(CHANGES))
            if (leaf.view instanceof ChangesView)
                leaf.view.show();
        if (!changes.length)
            this.notice?.hide();
        if (news.length)
            this.announce(news);
        else if (known.size && !changes.length)
            this.goBack();
    }
    // A person who works in this window is told, and asks for the pane: one that opened by itself would take what is typed.
    announce(news) {
        if (this.app.workspace.getLeavesOfType(CHANGES).some((leaf) => leaf.view.containerEl.isShown()))
            return;
        if (!activeDocument.hasFocus()) {
            void this.showChanges();
            return;
        }
        const [first] = news;
        const text = news.length === 1 ? `A change to ${first?.path} waits for you. ` : `${news.length} changes wait for you. `;
        this.notice?.hide();
        this.notice = new obsidian_1.Notice(createFragment((words) => {
            words.appendText(text);
            words.createEl("button", { text: "Show" }, (button) => {
                button.addEventListener("click", () => void this.showChanges());
            });
        }), LASTING);
    }
    // To the note, once all is decided. A pane that the person has put into a sidebar stays there.
    goBack() {
        const { workspace } = this.app;
        for (const leaf of workspace.getLeavesOfType(CHANGES))
            if (leaf.getRoot() === workspace.rootSplit)
                leaf.detach();
    }
    async showChanges() {
        this.notice?.hide();
        const { workspace } = this.app;
        const [there] = workspace.getLeavesOfType(CHANGES);
        const leaf = there ?? workspace.getLeaf("tab");
        if (!there)
            await leaf.setViewState({ type: CHANGES, active: true });
        await workspace.revealLeaf(leaf);
    }
}
exports.default = VaultwirePlugin;
function selectedLines(editor) {
    const [from, to] = [editor.getCursor("from"), editor.getCursor("to")];
    const last = to.ch === 0 && to.line > from.line ? to.line : to.line + 1; // a line of which nothing is selected is none
    return { first: from.line + 1, last };
}
// The section of the heading in a line: up to the next heading of its level, or a higher one.
function sectionLines(cache, line, lineCount) {
    const headings = cache?.headings ?? [];
    const heading = headings.find(({ position }) => position.start.line === line);
    if (!heading)
        return null;
    const next = headings.find(({ level, position }) => position.start.line > line && level <= heading.level);
    return { first: line + 1, last: next ? next.position.start.line : lineCount };
}
// The list item, or else the paragraph, table or other block, that a line belongs to.
function blockLines(cache, line, _lineCount) {
    const holds = ({ position }) => position.start.line <= line && line <= position.end.line;
    const block = cache?.listItems?.find(holds) ?? cache?.sections?.find(holds);
    return block ? { first: block.position.start.line + 1, last: block.position.end.line + 1 } : null;
}
class ChangesView extends obsidian_1.ItemView {
    plugin;
    words;
    constructor(leaf, plugin) {
        super(leaf);
        this.plugin = plugin;
    }
    getViewType() {
        return CHANGES;
    }
    getDisplayText() {
        return "Changes to look at";
    }
    getIcon() {
        return "file-diff";
    }
    async onOpen() {
        this.contentEl.addClass(CHANGES);
        // The second click of a double click was meant for what was there at the first.
        this.registerDomEvent(this.contentEl, "click", (event) => {
            if (event.detail > 1 && event.target instanceof Element && event.target.closest("button"))
                event.stopPropagation();
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
            const id = article.dataset.id ?? "";
            if (ids.has(id))
                shown.add(id);
            else
                this.takeAway(article);
        }
        for (const change of changes)
            if (!shown.has(change.id))
                this.add(change);
        const nothing = connected ? "Nothing waits for you." : "Vaultwire is not running. Nothing waits for you.";
        this.words.setText(changes.length ? "Nothing is written before you accept it." : nothing);
    }
    // A change that waits no more leaves its place empty while others wait: if the next one came up, its buttons could come
    // under the pointer just as the person clicks once more.
    takeAway(article) {
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
        if (!hadFocus)
            return;
        place.tabIndex = -1; // from here the Tab key leads to the next change; no button has the focus by itself
        place.focus();
    }
    add(change) {
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
    addButtons(article, change, pre, area) {
        let edited = false; // a text area drops carriage returns, so an unedited text goes back as it came
        const decide = (text) => {
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
            if (!area.hidden)
                area.focus();
        });
    }
}
