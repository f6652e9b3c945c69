import type { StreamPosition } from "./relay-store.ts";

type Lookup = (stream: string, seq: number) => Promise<{ created: string; msgId: string | null }>;

/**
 * Keeps the newest promise of each stream and finds out whether it is still kept. The promises to look up are fixed
 * when the doubt arises, so that newer promises, made after a loss, do not hide it.
 */
export function createReadBack(lookup: Lookup) {
  const newest = new Map<string, StreamPosition>();
  let due: StreamPosition[] = [];
  const pinOne = (position: StreamPosition) => {
    if (!due.some((d) => d.stream === position.stream && d.created === position.created && d.seq === position.seq))
      due.push(position);
  };

  return {
    /** Starts over with the promises that an earlier relay received; all of them are due. */
    load(positions: readonly StreamPosition[]): void {
      newest.clear();
      due = [...positions];
    },

    /** Notes a promise. One that does not come after the newest of its stream puts that one in doubt. */
    note(position: StreamPosition): void {
      const before = newest.get(position.stream);
      const follows = !before || (before.created === position.created && position.seq > before.seq);
      if (before && !follows) pinOne(before);
      if (follows || before?.created !== position.created) newest.set(position.stream, position);
    },

    /** Makes the newest promise of each stream due. */
    pin(): void {
      for (const position of newest.values()) pinOne(position);
    },

    get isDue(): boolean {
      return due.length > 0;
    },

    /**
     * Looks up what is due. Returns the promises that were broken, one of each stream: due until the stream is
     * forgotten.
     */
    async broken(): Promise<StreamPosition[]> {
      const lost = new Map<string, StreamPosition>();
      for (const position of [...due]) {
        if (lost.has(position.stream)) continue;
        const found = await lookup(position.stream, position.seq);
        if (found.created === position.created && found.msgId === position.msgId)
          due = due.filter((d) => d !== position);
        else lost.set(position.stream, position);
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
