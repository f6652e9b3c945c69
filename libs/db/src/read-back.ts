import type { Placed } from "./relay-store.ts";

type Lookup = (stream: string, seq: number) => Promise<{ created: string; msgId: string | null }>;

/**
 * Keeps the newest promise of each stream and finds out whether it is still kept. The promises to look up are fixed
 * when the doubt arises, so that newer promises, made after a loss, do not hide it.
 */
export function createReadBack(lookup: Lookup) {
  const newest = new Map<string, Placed>();
  let due: Placed[] = [];
  const pinOne = (placed: Placed) => {
    if (!due.some((d) => d.stream === placed.stream && d.created === placed.created && d.seq === placed.seq))
      due.push(placed);
  };

  return {
    /** Starts over with the promises that an earlier relay received; all of them are due. */
    load(placed: readonly Placed[]): void {
      newest.clear();
      due = [...placed];
    },

    /** Notes a promise. One that does not come after the newest of its stream puts that one in doubt. */
    note(placed: Placed): void {
      const before = newest.get(placed.stream);
      const follows = !before || (before.created === placed.created && placed.seq > before.seq);
      if (before && !follows) pinOne(before);
      if (follows || before?.created !== placed.created) newest.set(placed.stream, placed);
    },

    /** Makes the newest promise of each stream due. */
    pin(): void {
      for (const placed of newest.values()) pinOne(placed);
    },

    get isDue(): boolean {
      return due.length > 0;
    },

    /**
     * Looks up what is due. Returns the promises that were broken, one of each stream: due until the stream is
     * forgotten.
     */
    async broken(): Promise<Placed[]> {
      const lost = new Map<string, Placed>();
      for (const placed of [...due]) {
        if (lost.has(placed.stream)) continue;
        const found = await lookup(placed.stream, placed.seq);
        if (found.created === placed.created && found.msgId === placed.msgId) due = due.filter((d) => d !== placed);
        else lost.set(placed.stream, placed);
      }
      return [...lost.values()];
    },

    /** Forgets a stream's promises: its messages are published again. */
    forget(stream: string): void {
      newest.delete(stream);
      due = due.filter((d) => d.stream !== stream);
    },
  };
}
