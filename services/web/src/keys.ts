// Keys of the whole page. A view adds its own; none works while a field has the focus, but Escape.
import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, () => void>;

export function useKeys(keys: Keys): void {
  // What is drawn is what keys act on: an effect of each drawing would come a frame later.
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as Element;
      const typing = target.matches("input, textarea, select");
      if (typing && event.key !== "Escape") return;
      // Enter on a button or link is its own.
      if (event.key === "Enter" && target.closest("button, a, summary")) return;
      const act = now.current[event.key];
      if (!act) return;
      // Escape goes on: it closes dialogs.
      if (event.key !== "Escape") event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export const keyList: [string, string][] = [
  ["/", "search jobs"],
  ["j, k", "next and previous job or issue"],
  ["Enter", "open what is marked"],
  ["1 to 9", "tabs of a job"],
  ["a, d", "earlier, later"],
  ["w, s", "zoom in, zoom out"],
  ["f", "the whole job"],
  ["u", "back to all jobs"],
  ["t", "light, dark, as the system"],
  ["?", "these keys"],
  ["Esc", "close, leave a field"],
];
