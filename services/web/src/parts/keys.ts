// Keyboard shortcuts. Views add their own. While a field has the focus, only Escape works.
import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, () => void>;

export function useKeys(keys: Keys): void {
  // Keys must act on the latest render. An effect per render would run one frame too late.
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as Element;
      const typing = target.matches("input, textarea, select");
      if (typing && event.key !== "Escape") return;
      // Buttons and links handle Enter themselves.
      if (event.key === "Enter" && target.closest("button, a, summary")) return;
      const act = now.current[event.key];
      if (!act) return;
      // Escape keeps its default action of closing dialogs.
      if (event.key !== "Escape") event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export const keyList: [string, string][] = [
  ["/", "Search jobs"],
  ["j, k", "Next or previous job or issue"],
  ["Enter", "Open the selected job or issue"],
  ["1 to 9", "Open a job tab"],
  ["a, d", "Move the range earlier or later"],
  ["w, s", "Zoom in or out"],
  ["f", "Show the whole job"],
  ["u", "Return to all jobs"],
  ["t", "Switch between system, light, and dark"],
  ["?", "Show this list"],
  ["Esc", "Close, or leave a field"],
];
