import type { Bus } from "@muster/bus";
import { AppError, type Logger } from "@muster/kit";

type Objects = {
  readonly name: string;
  list(prefix: string): AsyncIterable<{ key: string }>;
  get(key: string): Promise<Buffer | null>;
  put(key: string, body: Uint8Array, options?: { lockUntil?: Date; contentType?: string }): Promise<void>;
};

/** A note that its chain contradicts. */
export type Contradicted = { chainId: string; seq: number; head: string; note: string };

/** Checkpoints as they stand outside of the database: on the stream CHECKPOINTS, and in the copies if there are any. */
export type Outside = {
  /** Whether the stream is reachable. */
  isReady(): boolean;
  /**
   * The evidence that verification compares a chain with: its newest checkpoints, those that it once contradicted, and
   * declared restores. The newest alone are not enough: a chain that was cut and continued has newer ones that agree
   * with it. An unavailable store is skipped and logged: only its evidence is missing.
   */
  copies(chainId: string): Promise<string[]>;
  /** The newest checkpoint of a chain; null when there is none. Throws AppError `unavailable`. */
  newest(chainId: string): Promise<string | null>;
  /** Keeps a note where newer checkpoints do not replace it. Throws when one of the stores refuses it. */
  keep(note: Contradicted): Promise<void>;
  /** Declared restores, as signed notes. Throws AppError `unavailable`. */
  restores(): Promise<string[]>;
  /** Stores a declared restore. Throws when one of the stores refuses it. */
  keepRestore(note: string, declaredAt: Date): Promise<void>;
};

/** As many as the stream CHECKPOINTS keeps of a subject. */
const mostNotes = 24;
const subjectOf = (chainId: string) => `checkpoints.${chainId}`;
const contradictedSubjectOf = (chainId: string) => `checkpoints.${chainId}-contradicted`;
const prefixOf = (chainId: string) => `checkpoints/${chainId}/`;
const contradictedPrefixOf = (chainId: string) => `contradicted/${chainId}/`;
const restoresSubject = "checkpoints.restores";
const restoresPrefix = "restores/";
const stream = "CHECKPOINTS";
const dayMs = 86_400_000;

export function checkpointsOutside(deps: {
  bus(): Bus | null;
  objects: Objects | null;
  log: Logger;
  now: () => Date;
  /** Days for which objects are locked; 0 locks nothing. */
  lockDays: number;
}): Outside {
  const { objects, log } = deps;
  const opened = (): Bus => {
    const bus = deps.bus();
    if (!bus) throw new AppError("unavailable", "NATS was not reached yet");
    return bus;
  };
  const kept = async (subject: string) =>
    (await opened().kept(stream, subject, mostNotes)).map((body) => Buffer.from(body).toString("utf8"));
  return {
    isReady: () => deps.bus() !== null,
    async copies(chainId) {
      const stores: [string, () => Promise<string[]>][] = [
        [stream, () => kept(subjectOf(chainId))],
        [stream, () => kept(contradictedSubjectOf(chainId))],
        [stream, () => kept(restoresSubject)],
      ];
      if (objects) {
        stores.push([objects.name, () => newestObjects(objects, prefixOf(chainId), mostNotes)]);
        stores.push([objects.name, () => newestObjects(objects, contradictedPrefixOf(chainId), mostNotes)]);
        stores.push([objects.name, () => newestObjects(objects, restoresPrefix, mostNotes)]);
      }
      const notes = await Promise.all(
        stores.map(async ([store, read]) => {
          try {
            return await read();
          } catch (err) {
            log.warn({ err, store, chainId }, "checkpoints not readable there");
            return [];
          }
        }),
      );
      return notes.flat();
    },
    async newest(chainId) {
      const body = await opened().newest(stream, subjectOf(chainId));
      if (body) return Buffer.from(body).toString("utf8");
      // A stream that lost its store; or a chain that is new.
      return objects ? ((await newestObjects(objects, prefixOf(chainId), 1))[0] ?? null) : null;
    },
    async keep({ chainId, seq, head, note }) {
      const body = Buffer.from(note);
      const msgId = `${contradictedSubjectOf(chainId)}/${seq}/${head}`;
      await opened().transport.publish({ subject: contradictedSubjectOf(chainId), msgId, body });
      if (!objects) return;
      const lockUntil = deps.lockDays > 0 ? { lockUntil: new Date(deps.now().getTime() + deps.lockDays * dayMs) } : {};
      const key = `${contradictedPrefixOf(chainId)}${String(seq).padStart(16, "0")}-${head}.note`;
      await objects.put(key, body, { contentType: "text/plain", ...lockUntil });
    },
    async restores() {
      const onStream = await kept(restoresSubject);
      return objects ? [...onStream, ...(await newestObjects(objects, restoresPrefix, mostNotes))] : onStream;
    },
    async keepRestore(note, declaredAt) {
      const at = String(declaredAt.getTime()).padStart(16, "0");
      const body = Buffer.from(note);
      await opened().transport.publish({ subject: restoresSubject, msgId: `${restoresSubject}/${at}`, body });
      await objects?.put(`${restoresPrefix}${at}.note`, body, { contentType: "text/plain" });
    },
  };
}

async function newestObjects(objects: Objects, prefix: string, most: number): Promise<string[]> {
  const keys: string[] = [];
  // Keys are padded, so the last are the newest.
  for await (const { key } of objects.list(prefix)) {
    keys.push(key);
    if (keys.length > most) keys.shift();
  }
  const bodies = await Promise.all(keys.map((key) => objects.get(key)));
  return bodies.flatMap((body) => (body === null ? [] : [body.toString("utf8")]));
}
