type Info = { importedIds: readonly string[]; dynamicallyImportedIds: readonly string[] };
type Context = { getModuleInfo(id: string): Info | null };

/** Pages that share a module from which on it is in a file that most pages load. */
const often = 23;

/**
 * Few files in place of one for each set of pages that share modules: a browser fetches six at a time over HTTP/1.1,
 * and on a slow network each round costs as much as 30 KB. `entries` are HTML files by name, `main` the one with pages.
 */
export function chunkGroups(entries: Readonly<Record<string, string>>, main: string) {
  let graph: Graph | null = null;
  const group = (debugName: string, nameOf: (all: Graph, id: string) => string | null) => ({
    debugName,
    name: (id: string, context: Context) => {
      graph ??= new Graph(entries, context);
      return nameOf(graph, id);
    },
  });
  const count = Object.keys(entries).length;
  const shared = (needing: number, loaders: number) =>
    group(`needed by ${needing}, loaded by ${loaders}`, (all, id) => {
      const [needed, loading] = [all.entriesOf(id), all.loadersOf(id)];
      if (!needed.includes(main) || needed.length !== needing || loading.length !== loaders) return null;
      const later = loading.filter((name) => !needed.includes(name));
      return [needed.join("-"), ...later.map((name) => `${name}-later`)].join("-");
    });
  const descending = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, n) => from - n);
  // A module's imports are in its own group or in an earlier one. What another entry may load later is apart from what
  // is the main entry's alone, which runs when it is loaded.
  return [
    ...descending(count, 1).flatMap((needing) => descending(count, needing).map((loaders) => shared(needing, loaders))),
    group("forms", (all, id) => (all.pagesOf(id) >= often && all.entriesOf(id).length > 0 ? "forms" : null)),
    group("records", (all, id) => (all.pagesOf(id) >= often && all.loadersOf(id).length === 1 ? "records" : null)),
  ];
}

/** What entries and pages need before they run. */
class Graph {
  readonly #entries = new Map<string, string[]>();
  readonly #loaders = new Map<string, string[]>();
  readonly #pages = new Map<string, number>();

  constructor(entries: Readonly<Record<string, string>>, context: Context) {
    const infoOf = (id: string) => context.getModuleInfo(id) ?? { importedIds: [], dynamicallyImportedIds: [] };
    const closure = (root: string, nextOf = (id: string) => infoOf(id).importedIds) => {
      const found = new Set([root]);
      for (const id of found) for (const next of nextOf(id)) found.add(next);
      return found;
    };
    const allOf = (id: string) => [...infoOf(id).importedIds, ...infoOf(id).dynamicallyImportedIds];
    const pages = new Set<string>();
    for (const [name, entry] of Object.entries(entries)) {
      for (const id of closure(entry)) {
        this.#entries.set(id, [...this.entriesOf(id), name]);
        for (const page of infoOf(id).dynamicallyImportedIds) pages.add(page);
      }
      for (const id of closure(entry, allOf)) this.#loaders.set(id, [...this.loadersOf(id), name]);
    }
    for (const page of pages) {
      for (const id of closure(page)) {
        if (id !== page) this.#pages.set(id, this.pagesOf(id) + 1);
        for (const next of infoOf(id).dynamicallyImportedIds) pages.add(next);
      }
    }
  }

  /** The names of entries that need it before they run. */
  entriesOf(id: string): readonly string[] {
    return this.#entries.get(id) ?? [];
  }

  /** The names of entries that need it, or may load it later. */
  loadersOf(id: string): readonly string[] {
    return this.#loaders.get(id) ?? [];
  }

  /** How many files that are loaded when something is opened need it. */
  pagesOf(id: string): number {
    return this.#pages.get(id) ?? 0;
  }
}
