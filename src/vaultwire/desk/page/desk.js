// The state of the page and everything that changes it. It renders nothing: app.js shows `state` after each `set`.

import { READ_ONLY } from "./acting.js";
import { ApiError, get, listen, post, start } from "./api.js";
import { indexOf, keptPlace, merge, shape } from "./order.js";
import { pageChanged } from "./pointer.js";
import { isView } from "./views.js";
import { canKeep, count, isOpen, nameOf, subject, waits } from "./words.js";

const PAGE = 60;
const NO_FILTERS = { text: "", client: "", folder: "", kind: "", state: "" };

// A choice of the person, kept in this browser where that is allowed.
function remembered(name, value) {
  try {
    if (value) localStorage.setItem(`vaultwire-desk-${name}`, value);
    return value ?? localStorage.getItem(`vaultwire-desk-${name}`);
  } catch {
    return null; // it is chosen again next time
  }
}

export class Desk {
  constructor(show) {
    this.show = show;
    this.drafts = new Map(); // what the person has typed into proposals, by vault, id and file
    this.done = []; // this page's actions, for "u"
    this.order = 0; // of requests for the list: an older answer is dropped
    this.state = {
      ready: false, failed: null, online: true, busy: false, readOnly: false, hasGrants: false, version: "", vaults: [], elsewhere: {}, vault: "", waitingBy: {},
      items: [], fresh: null, hasMore: false, total: 0, waiting: 0, unreviewed: 0, clients: [], sessions: [], listed: false,
      filters: NO_FILTERS, route: { kind: "list", id: "" }, detail: null, detailError: null, isChanged: false,
      layout: remembered("layout") ?? "unified", view: "source", said: "", isError: false, dialog: null, editing: null,
      permission: "Notification" in globalThis ? Notification.permission : "denied",
    };
  }

  set(patch) {
    this.state = { ...this.state, ...patch };
    this.show(this.state);
  }

  say(said, isError = false) {
    this.set({ said, isError });
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.say(error instanceof ApiError ? error.message : `The page has a problem: ${error.message}`, true);
  }

  // -- start, vaults, news

  async begin() {
    try {
      const told = await start();
      this.set({ ready: true, version: told.version, vaults: told.vaults, elsewhere: told.elsewhere, readOnly: Boolean(told.read_only), hasGrants: Boolean(told.has_grants), waitingBy: told.waiting ?? {} });
    } catch (error) {
      this.set({ failed: error.message });
      return;
    }
    addEventListener("hashchange", () => this.follow());
    await this.follow();
    let lost = false;
    listen({
      onOpen: () => {
        this.set({ online: true });
        if (lost) this.say("The connection is back.");
        // Also the first time: what changed after the list was read and before news arrived is told by nobody.
        if (lost) this.again();
        else this.refresh();
        lost = false;
      },
      onLost: () => {
        lost = true;
        this.set({ online: false });
      },
      onChanged: (news) => this.hear(news),
    });
    addEventListener("beforeunload", (event) => {
      if (this.drafts.size) event.preventDefault();
    });
  }

  async again() {
    try {
      const told = await start();
      this.set({ vaults: told.vaults, elsewhere: told.elsewhere, waitingBy: told.waiting ?? {} });
      await this.refresh();
    } catch (error) {
      this.fail(error);
    }
  }

  hear(news) {
    const before = this.state.waitingBy[news.vault] ?? 0;
    this.set({ waitingBy: { ...this.state.waitingBy, [news.vault]: news.waiting } });
    if (news.waiting > before) this.notify(news);
    if (news.vault === this.state.vault) this.refresh();
  }

  // -- routes: #/VAULT, #/VAULT/c57, #/VAULT/session/ID, #/VAULT/since, #/VAULT/NAME of a view

  link(...parts) {
    return `#/${[this.state.vault, ...parts].map(encodeURIComponent).join("/")}`;
  }

  go(...parts) {
    const hash = this.link(...parts);
    if (location.hash !== hash) location.hash = hash;
  }

  async follow() {
    const parts = location.hash.replace(/^#\//, "").split("/").map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
    const vault = this.state.vaults.includes(parts[0]) ? parts[0] : this.state.vault || this.state.vaults[0] || "";
    const [, first = "", ...rest] = parts;
    const route = /^[cp]\d+$/.test(first) ? { kind: "item", id: first }
      : first === "session" ? { kind: "session", id: rest.join("/") }
        : first === "since" ? { kind: "since", id: "" }
          : isView(first) ? { kind: "view", id: [first, ...rest].join("/") } : { kind: "list", id: "" };
    const moved = vault !== this.state.vault;
    const patch = { vault, route, isChanged: false };
    if (moved) Object.assign(patch, { items: [], fresh: null, listed: false, filters: NO_FILTERS });
    if (route.id !== this.state.detail?.id || moved) Object.assign(patch, { detail: null, detailError: null, editing: null });
    pageChanged();
    this.set(patch);
    await Promise.all([moved ? this.load() : null, route.kind === "item" && !this.state.detail ? this.open(route.id) : null]);
  }

  // -- the list

  query(extra) {
    return { vault: this.state.vault, ...this.state.filters, folds: 1, limit: PAGE, ...extra };
  }

  async load() {
    const order = ++this.order;
    const { filters } = this.state;
    try {
      const answer = await get("items", this.query());
      if (order !== this.order) return;
      this.listedFor = filters;
      this.set({ ...this.counts(answer), items: answer.items, fresh: null, hasMore: answer.has_more, listed: true });
    } catch (error) {
      this.fail(error);
    }
  }

  counts(answer) {
    const { total, waiting, unreviewed, clients, sessions } = answer;
    return { total, open: answer.open, waiting, unreviewed, clients, sessions, waitingBy: { ...this.state.waitingBy, [this.state.vault]: waiting } };
  }

  async more() {
    const last = this.state.items.at(-1);
    if (!last || !this.state.hasMore) return;
    try {
      const answer = await get("items", this.query({ before: last.same.at(-1)?.[0] ?? last.id }));
      const known = new Set(this.state.items.map((item) => item.id));
      this.set({ items: [...this.state.items, ...answer.items.filter((item) => !known.has(item.id))], hasMore: answer.has_more });
    } catch (error) {
      this.fail(error);
    }
  }

  // News: what is in the list keeps its place; what is new waits behind a button while the person is at the list.
  async refresh() {
    const order = ++this.order;
    const { filters } = this.state;
    try {
      const limit = Math.max(PAGE, Math.min(this.state.items.length, 4 * PAGE));
      const answer = await get("items", this.query({ limit }));
      if (order !== this.order) return;
      const isHeld = this.listedFor === filters && this.isAtList();
      this.listedFor = filters;
      const { items, fresh } = isHeld ? keptPlace(this.state.items, answer.items) : merge(this.state.items, answer.items);
      const hasMore = answer.has_more || items.length > answer.items.length;
      this.set({ ...this.counts(answer), items, fresh, hasMore, listed: true }); // also in place of a load that it overtook
    } catch (error) {
      this.fail(error);
    }
    if (this.state.route.kind === "item") await this.reopen();
  }

  isAtList() {
    const list = document.getElementById("list");
    return Boolean(list && (list.scrollTop > 8 || list.matches(":hover") || list.contains(document.activeElement)));
  }

  showFresh() {
    pageChanged();
    if (this.state.fresh) this.set({ items: this.state.fresh.items, fresh: null });
    document.getElementById("list")?.scrollTo({ top: 0 });
  }

  filter(patch) {
    this.set({ filters: { ...this.state.filters, ...patch } });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), "text" in patch || "folder" in patch ? 180 : 0);
  }

  clearFilters() {
    this.filter(NO_FILTERS);
  }

  // -- one change

  async open(id) {
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const detail = await get("item", { vault: this.state.vault, id }, this.asking.signal);
      if (this.state.route.id === id) this.set({ detail, detailError: null, isChanged: false });
    } catch (error) {
      if (error.name !== "AbortError") this.set({ detailError: error.message });
    }
  }

  // The same change again: its states change in place. If its lines differ, the person decides when they are shown.
  async reopen() {
    const { detail, route, vault } = this.state;
    if (!detail || route.id !== detail.id) return;
    try {
      const latest = await get("item", { vault, id: detail.id });
      if (this.state.detail?.id !== latest.id) return;
      pageChanged();
      if (shape(latest) === shape(detail)) this.set({ detail: latest, isChanged: false });
      else this.set({ detail: { ...latest, files: detail.files, basis: detail.basis }, isChanged: true });
    } catch (error) {
      if (error.status !== 0) this.fail(error);
    }
  }

  showLatest() {
    pageChanged();
    this.open(this.state.route.id);
  }

  setLayout(layout) {
    remembered("layout", layout);
    this.set({ layout });
  }

  // -- decisions

  canAct() {
    if (!this.state.online) this.say("The connection is lost, so nothing can be decided now.", true);
    else if (this.state.busy) this.say("The last action is not finished yet.");
    return this.state.online && !this.state.busy;
  }

  async act(path, body, afterwards) {
    if (!this.canAct()) return false;
    if (this.state.readOnly && (body.action === "undo" || body.action === "accept")) return this.say(READ_ONLY, true);
    this.set({ busy: true, dialog: null });
    try {
      const answer = await post(path, { vault: this.state.vault, ...body });
      pageChanged();
      await afterwards(answer); // still busy: until the page shows what was decided, a second click would decide it again
      this.set({ busy: false });
      return true;
    } catch (error) {
      this.set({ busy: false });
      if (error.status === 409 && (error.details.conflicts ?? []).length) this.conflict(path, body, error);
      else this.fail(error);
      if (error.status === 409 || error.status === 404) this.refresh();
      return false;
    }
  }

  // Keep, undo, accept or refuse. `what` has an id, and for a part a file and a hunk.
  async decide(what) {
    const { id, action } = what;
    const item = this.itemOf(id);
    return this.act("decide", what, async (answer) => {
      this.note(what, answer, item);
      this.say(answer.message || `${action}: ${nameOf(id)}`);
      if (answer.rest && this.state.route.id === id) this.go(answer.rest); // a part was accepted: the rest waits on
      await this.refresh();
    });
  }

  async decideMany(what) {
    return this.act("decide_many", { dry_run: false, ...what }, async (answer) => {
      this.note(what, answer, null);
      this.say(answer.message);
      await this.refresh();
    });
  }

  note({ id, action, file, hunk, ...many }, answer, item) {
    const name = id ? `${nameOf(id)}${item ? `: ${subject(item)}` : ""}` : "several changes";
    const made = answer.undo ?? answer.change;
    if (action === "keep") this.done.push({ name, what: id ? { id, action: "unkeep", file, hunk } : { ...many, action: "unkeep" }, isMany: !id });
    else if (made) this.done.push({ name, what: { id: `c${made}`, action: "undo" } });
    else this.done.push({ name, what: null });
  }

  async undoLast() {
    const last = this.done.at(-1);
    if (!last) return this.say("This page has done nothing yet that could be undone.");
    if (!last.what) return this.say(`A refusal stays: the client was told. (${last.name})`, true);
    const path = last.isMany ? "decide_many" : "decide";
    return this.act(path, last.what, async (answer) => {
      this.done.pop();
      this.say(answer.message || `Undid the last action on ${last.name}.`);
      await this.refresh();
    });
  }

  itemOf(id) {
    return this.state.detail?.id === id ? this.state.detail : this.state.items.find((item) => item.id === id);
  }

  conflict(path, body, error) {
    const { conflicts, possible = [] } = error.details;
    this.set({ dialog: { kind: "conflict", path, body, conflicts, possible } });
  }

  ask(dialog) {
    this.set({ dialog });
  }

  closeDialog() {
    pageChanged();
    this.set({ dialog: null });
  }

  // The usual action of a key or button on an item: keep or accept, undo or refuse.
  yes(item, part = {}) {
    if (item.state === "waiting" || (item.state === "stale" && part.file !== undefined)) return this.decide({ id: item.id, action: "accept", basis: item.basis, ...part });
    if (item.state === "stale") return this.say("It would write over what has changed since. Edit it, or refuse it with a reason.", true);
    if (part.hunk === undefined && part.file === undefined && !canKeep(item)) return this.say(`There is nothing to keep in ${nameOf(item.id)}.`);
    return this.decide({ id: item.id, action: "keep", ...part });
  }

  no(item, part = {}) {
    if (waits(item)) return this.ask({ kind: "refuse", item });
    if (["undone", "refused", "withdrawn"].includes(item.state)) return this.say(`There is nothing to undo in ${nameOf(item.id)}.`);
    const id = item.id.startsWith("p") && item.change ? `c${item.change}` : item.id;
    return this.decide({ id, action: "undo", ...part });
  }

  // What waits alone, and back; by one click.
  toggleWaiting() {
    this.filter({ ...NO_FILTERS, state: this.state.filters.state === "open" ? "" : "open" });
    if (this.state.route.kind === "view") this.go();
  }

  // The oldest first: later ones build on it.
  async showWaiting() {
    try {
      const { items } = await get("items", { vault: this.state.vault, state: "open", limit: 500 });
      const first = items.at(-1)?.id;
      if (first) this.go(first);
      if (first) return first;
      if (this.state.filters.state === "open") this.clearFilters();
    } catch (error) {
      this.fail(error);
    }
    return null;
  }

  nextOpen(id) {
    const { items } = this.state;
    const at = indexOf(items, id);
    return items.slice(at + 1).find(isOpen) ?? items.slice(0, Math.max(at, 0)).reverse().find(isOpen) ?? null;
  }

  step(by) {
    const { items, route } = this.state;
    const at = indexOf(items, route.id);
    const next = items[at < 0 ? 0 : at + by];
    if (next) this.go(next.id);
    return next;
  }

  // -- desktop notifications

  async askToNotify() {
    const permission = await Notification.requestPermission();
    this.set({ permission });
    this.say(permission === "granted" ? "You are notified when something waits and this page is hidden." : "The browser does not allow notifications.");
  }

  notify(news) {
    if (!document.hidden || this.state.permission !== "granted") return;
    const told = new Notification(`${count(news.waiting, "change")} ${news.waiting === 1 ? "waits" : "wait"} for you`, { body: news.vault, tag: `vaultwire-${news.vault}` });
    told.addEventListener("click", () => {
      focus();
      location.hash = `#/${encodeURIComponent(news.vault)}`;
    });
  }
}
