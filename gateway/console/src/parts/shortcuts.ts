import { useEffect, useRef } from "react";
import { isDialogOpen } from "./dialog.tsx";

const setting = "muster.single-keys";

/** Single keys as shortcuts can be turned off (WCAG 2.1.4). */
export const areSingleKeysOn = () => localStorage.getItem(setting) !== "off";
export const setSingleKeys = (on: boolean) =>
  on ? localStorage.removeItem(setting) : localStorage.setItem(setting, "off");

const takesText = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

let prefix = "";
let prefixAt = 0;

/**
 * Calls back for a key, or for two after one another such as `g d`, unless the user is typing or a dialog is open.
 */
export function useShortcut(keys: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || takesText(event.target) || !areSingleKeysOn()) return;
      if (isDialogOpen()) return;
      const pressed = performance.now() - prefixAt < 1_000 && prefix !== "" ? `${prefix} ${key}` : key;
      if (pressed !== keys) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [keys]);
}

/** Remembers a first key for shortcuts of two. */
export function notePrefixes(): void {
  document.addEventListener("keydown", ({ key }) => {
    // After the handlers of this key, which ask for the one before it.
    setTimeout(() => {
      prefix = key === "g" ? "g" : "";
      prefixAt = performance.now();
    });
  });
}
