// Stands in for the desk's views.js: a view in a client shows lines, no rendered note.

export async function loadTree() {
  throw new Error("The desk shows rendered notes.");
}
