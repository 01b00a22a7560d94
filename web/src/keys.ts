// Keys. What is open last hears them first; while somebody writes, only those with Ctrl are heard.

export type Keys = Record<string, (event: KeyboardEvent) => void>;
const layers: { keys: Keys; alone: boolean }[] = [];

/** Hears keys until the returned function is called. Nothing below hears any while `alone`. */
export function hear(keys: Keys, alone = false): () => void {
  const layer = { keys, alone };
  layers.push(layer);
  return () => {
    const at = layers.indexOf(layer);
    if (at >= 0) layers.splice(at, 1);
  };
}

const writes = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && !(target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type));

export function press(event: KeyboardEvent) {
  if (event.defaultPrevented || event.isComposing) return;
  const ctrl = event.ctrlKey || event.metaKey;
  // What has the focus comes first.
  if (event.key === "Enter" && !ctrl && event.target instanceof Element && event.target.closest("button, a[href], summary")) return;
  if (event.altKey || (!ctrl && writes(event.target) && event.key !== "Escape")) return;
  const name = (ctrl ? "Ctrl+" : "") + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  for (const { keys, alone } of [...layers].reverse()) {
    const act = keys[name];
    if (act) {
      event.preventDefault();
      act(event);
      return;
    }
    if (alone) return;
  }
}
