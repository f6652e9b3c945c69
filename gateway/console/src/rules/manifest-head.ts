/** What a manifest releases, and the names of its files. */
export type ManifestHead = { component: string; version: string; names: readonly string[] };

type Parsed = { component?: unknown; version?: unknown; artifacts?: unknown };

/** Reads the first line of a manifest, whose signatures follow it; null for a text that is none. */
export function manifestHead(text: string): ManifestHead | null {
  try {
    const { component, version, artifacts }: Parsed = JSON.parse(text.trim().split("\n", 1)[0] ?? "");
    if (typeof component !== "string" || typeof version !== "string" || !Array.isArray(artifacts)) return null;
    const names = artifacts.map((each: { name?: unknown } | null) => each?.name);
    return { component, version, names: [...new Set(names.filter((name) => typeof name === "string"))] };
  } catch {
    return null;
  }
}

/** The address of each file: its own where one was given, else its name in the folder. */
export function urlsOf(
  names: readonly string[],
  folder: string,
  own: (name: string) => string,
): Record<string, string> {
  const base = folder.trim().replace(/\/*$/, "/");
  return Object.fromEntries(names.map((name) => [name, own(name).trim() || `${base}${name}`]));
}
