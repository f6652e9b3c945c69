import { useSyncExternalStore } from "react";

const setting = "muster.time-zone";
const listeners = new Set<() => void>();

/** The browser's own zone replaces one that this browser does not know. */
function zoneOf(zone: string): string {
  if (zone === "browser") return zone;
  try {
    new Intl.DateTimeFormat(undefined, { timeZone: zone });
    return zone;
  } catch {
    return "browser";
  }
}

let chosen = zoneOf(localStorage.getItem(setting) ?? "browser");

/** Which zone times are shown in: `browser` for its own, else one by its IANA name. */
export const chosenZone = (): string => chosen;

/** The IANA name of the zone that times are shown in. */
export const zoneName = (zone = chosen): string =>
  zone === "browser" ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;

/** Takes effect on every time on the page at once. */
export function chooseZone(zone: string): void {
  chosen = zoneOf(zone);
  if (chosen === "browser") localStorage.removeItem(setting);
  else localStorage.setItem(setting, chosen);
  for (const listener of listeners) listener();
}

/** The chosen zone, also when it is changed meanwhile. */
export const useZone = (): string =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => chosen,
  );
