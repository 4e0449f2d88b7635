// What the server and the plugin say to each other, as in desk/plugin_endpoint.py. What is shown comes from review/.

export const VERSION = 2; // of the messages; desk/plugin_endpoint.py has the same number
export const MAX_SELECTED = 100_000; // characters; the server cuts there too

/** A position in a note: line and character, from 0. */
export type Spot = [line: number, character: number];

/** What the person sees. */
export interface Seen {
  path: string;
  text: string;
  start: Spot;
  end: Spot;
  tabs: string[];
}

/** What is mentioned: lines from 1, 0 for the whole file. */
export interface Lines {
  first: number;
  last: number;
}

/** A change that was made, or one that waits. Its id is c57 or p12. */
export interface Item {
  id: string;
  time: string;
  kind: "change" | "held" | "diff";
  client: string;
  tool: string;
  label: string;
  state: "made" | "undone" | "undone in part" | "waiting" | "stale" | "accepted" | "accepted as edited" | "refused" | "withdrawn";
  is_reviewed: boolean;
  undoes: number[];
  undone_by: number | null;
  change: number | null;
  reason: string;
  summary: string;
  file_count: number;
}

export interface Detail extends Omit<Item, "files"> {
  files: FileDiff[];
  can_undo: boolean;
  blocked_by: string[];
  conflict: string;
  way_back?: string; // where the note was, if the undo of its move is in the way of later changes
}

export interface FileDiff {
  index: number;
  action: "create" | "edit" | "remove" | "move";
  path: string;
  to: string | null;
  kind: "note" | "canvas" | "image" | "text" | "binary";
  is_new: boolean;
  added: number;
  removed: number;
  rewritten_links: number;
  notices: { what: string; count: number; words: string }[];
  properties: { name: string; old: PropertyValue | null; new: PropertyValue | null }[];
  links: { line: number; words: string }[];
  nodes: { what: string; id: string; words: string }[];
  hunks: Hunk[];
  hunk_count: number;
  next_hunk: number | null;
  now?: FileDiff | null; // of a stale proposal: what has changed in the file since
}

export interface PropertyValue {
  text: string;
  type: string;
}

export interface Hunk {
  index: number;
  kind: "text" | "properties" | "table" | "list" | "task" | "code";
  old_start: number;
  old_lines: number;
  new_start: number;
  new_lines: number;
  state: "made" | "kept" | "undone" | "waiting";
  rows: Row[];
  is_continued?: boolean; // the rows before it are in an earlier hunk of the same index
}

export interface Row {
  kind: "same" | "removed" | "added" | "changed" | "gap";
  old: number | null;
  new: number | null;
  parts: Part[];
  new_parts?: Part[];
  note?: string;
}

export interface Part {
  t: string;
  op: "=" | "+" | "-";
  hidden?: string;
  lookalike?: string;
}

export type Action = "keep" | "unkeep" | "undo" | "accept" | "refuse" | "move_back";

/** What the person decides, of an item, of one of its files, or of one hunk. */
export interface Choice {
  id: string;
  action: Action;
  file?: number;
  hunk?: number;
  edited?: Record<string, string>;
  reason?: string;
}

export type Message =
  | { type: "hello"; version: number; answer: string }
  | { type: "items"; items: Item[]; waiting: number }
  | { type: "item"; item: Detail }
  | { type: "text"; id: string; file: number; text: string }
  | { type: "preview"; id: string; file: FileDiff }
  | { type: "hunks"; id: string; file: FileDiff } // with the hunks from the one that was asked for
  | { type: "decided"; id: string; message: string; error: boolean; undo?: number | null }
  | { type: "open"; path: string; line: number }
  | { type: "shared"; clients: string[]; path: string }
  | { type: "mentioned"; outcome: string };

/** Where the server is, and by which secrets both sides know each other. */
export interface Address {
  port: number;
  token: string;
  answer: string;
}
