// What keeps a click from deciding something that the person did not aim at. Three rules, for every element with data-decides:
// 1. The second click of a double click decides nothing: it was meant for what was there at the first.
// 2. A click counts only on the button that the pointer has moved to or that was pressed before. If the page changed and another
//    button came under a still pointer, its click decides nothing.
// 3. A key that is held down decides once.

const TOUCH_REST = 500; // ms after the page has changed in which a touch decides nothing: a finger has no place before it lands
const WHEEL_REST = 400; // ms for which a page may go on scrolling smoothly

let at = { x: -1, y: -1 };
let over = null;
let changed = 0;
let wheeled = -1e9;
let said = () => {};

function deciding(target) {
  return target instanceof Element ? target.closest("[data-decides]") : null;
}

function keyOf(element) {
  return element?.dataset.decides ?? null;
}

// Call it when something was decided or the page shows something else.
export function pageChanged() {
  changed = performance.now();
}

export function guard(say) {
  said = say;
  addEventListener("pointermove", (event) => {
    if (event.clientX === at.x && event.clientY === at.y) return; // a browser tells a still pointer that the page moved
    at = { x: event.clientX, y: event.clientY };
    over = keyOf(deciding(event.target));
  }, { capture: true, passive: true });
  // Scrolling is aiming, too: what the person scrolls under the pointer is what they mean.
  addEventListener("wheel", () => { wheeled = performance.now(); }, { capture: true, passive: true });
  addEventListener("scroll", () => {
    if (performance.now() - wheeled < WHEEL_REST) over = keyOf(deciding(document.elementFromPoint(at.x, at.y)));
  }, { capture: true, passive: true });
  addEventListener("pointerdown", (event) => {
    const element = deciding(event.target);
    if (event.pointerType !== "mouse") {
      over = performance.now() - changed < TOUCH_REST ? null : keyOf(element);
    } else if (event.clientX !== at.x || event.clientY !== at.y) {
      at = { x: event.clientX, y: event.clientY };
      over = keyOf(element);
    }
  }, { capture: true, passive: true });
  addEventListener("click", (event) => {
    const element = deciding(event.target);
    if (!element || event.detail === 0) return; // by key
    if (event.detail === 1 && keyOf(element) === over) return;
    event.stopPropagation();
    event.preventDefault();
    if (event.detail === 1) said("The page had moved under the pointer, so nothing was decided. Move the pointer and click again.");
  }, { capture: true });
  addEventListener("keydown", (event) => {
    if (event.repeat && (event.key === "Enter" || event.key === " ") && deciding(event.target)) event.preventDefault();
  }, { capture: true });
}
