// How news come into a list that a person looks at. Pure functions.

// Items as they are now, and those loaded earlier that the answer was too short for.
export function merge(shown, latest) {
  const last = latest.at(-1);
  const known = new Set(latest.map((item) => item.id));
  const older = last ? shown.filter((item) => !known.has(item.id) && isBefore(item, last)) : [];
  return { items: [...latest, ...older], fresh: null };
}

// Each item that is shown keeps its place and gets its latest state. One that no longer fits the filter stays until the list
// is loaded again. What is new is in `fresh`.
export function keptPlace(shown, latest) {
  const now = new Map(latest.map((item) => [item.id, item]));
  const items = shown.map((item) => now.get(item.id) ?? item);
  const known = new Set(shown.map((item) => item.id));
  const last = shown.at(-1);
  const added = latest.filter((item) => !known.has(item.id) && (!last || !isBefore(item, last))).length;
  return { items, fresh: added ? { ...merge(shown, latest), added } : null };
}

// The place of a change in the list, also of one that is folded in a row.
export function indexOf(items, id) {
  return items.findIndex((item) => item.id === id || (item.same ?? []).some(([each]) => each === id));
}

function isBefore(item, other) {
  return Date.parse(item.time) < Date.parse(other.time);
}

// What decides where things are on the page: files and the lines of their hunks, without their states.
export function shape(detail) {
  return JSON.stringify([(detail.files ?? []).map((file) => [
    file.index, file.action, file.path, file.to, file.hunk_count, file.added, file.removed,
    (file.hunks ?? []).map((hunk) => [hunk.index, hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines]),
  ]), detail.state === "stale"]);
}

// Days, and in each the sessions, in the order of their latest item.
export function grouped(items, dayKey) {
  const days = [];
  const byDay = new Map();
  for (const item of items) {
    const key = dayKey(item.time);
    if (!byDay.has(key)) {
      byDay.set(key, { key, time: item.time, groups: [], byName: new Map() });
      days.push(byDay.get(key));
    }
    const day = byDay.get(key);
    const name = `${item.client}\n${item.session ?? ""}`;
    if (!day.byName.has(name)) {
      const group = { key: `${key} ${name}`, client: item.client, session: item.session ?? "", items: [] };
      day.byName.set(name, group);
      day.groups.push(group);
    }
    day.byName.get(name).items.push(item);
  }
  return days;
}
