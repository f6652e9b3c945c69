import type { Bus } from "@muster/bus";
import type { Logger } from "@muster/kit";

type Objects = {
  readonly name: string;
  list(prefix: string): AsyncIterable<{ key: string }>;
  get(key: string): Promise<Buffer | null>;
};

/** As many as the stream CHECKPOINTS keeps of a chain. */
const mostNotes = 24;

/**
 * The newest checkpoints of a chain as they stand outside of the database: on the stream, and in the copies if there are any. Not the
 * newest alone: a chain that was cut and went on has a newer one that agrees with it. A place that does not answer is left out and
 * logged: its evidence is missing, the chain's own is not.
 */
export function checkpointCopies(deps: {
  bus(): Bus | null;
  objects: Objects | null;
  log: Logger;
}): (chainId: string) => Promise<string[]> {
  const { objects, log } = deps;
  return async (chainId) => {
    const places: [string, () => Promise<string[]>][] = [
      [
        "CHECKPOINTS",
        async () => {
          const bodies = await deps.bus()?.kept("CHECKPOINTS", `checkpoints.${chainId}`, mostNotes);
          return (bodies ?? []).map((body) => Buffer.from(body).toString("utf8"));
        },
      ],
    ];
    if (objects) places.push([objects.name, () => newestObjects(objects, `checkpoints/${chainId}/`)]);
    const notes = await Promise.all(
      places.map(async ([place, read]) => {
        try {
          return await read();
        } catch (err) {
          log.warn({ err, place, chainId }, "newest checkpoints not readable there");
          return [];
        }
      }),
    );
    return notes.flat();
  };
}

async function newestObjects(objects: Objects, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  // Keys are padded, so the last are the newest.
  for await (const { key } of objects.list(prefix)) {
    keys.push(key);
    if (keys.length > mostNotes) keys.shift();
  }
  const bodies = await Promise.all(keys.map((key) => objects.get(key)));
  return bodies.flatMap((body) => (body === null ? [] : [body.toString("utf8")]));
}
