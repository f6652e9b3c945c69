import type { Bus } from "@muster/bus";
import type { Logger } from "@muster/kit";

type Objects = {
  readonly name: string;
  list(prefix: string): AsyncIterable<{ key: string }>;
  get(key: string): Promise<Buffer | null>;
};

/**
 * The newest checkpoint of a chain as it stands outside of the database: on the stream, and in the copies if there are any. A
 * place that does not answer is left out and logged: its evidence is missing, the chain's own is not.
 */
export function checkpointCopies(deps: {
  bus(): Bus | null;
  objects: Objects | null;
  log: Logger;
}): (chainId: string) => Promise<string[]> {
  const { objects, log } = deps;
  return async (chainId) => {
    const places: [string, () => Promise<string | null>][] = [
      [
        "CHECKPOINTS",
        async () => {
          const body = await deps.bus()?.newest("CHECKPOINTS", `checkpoints.${chainId}`);
          return body ? Buffer.from(body).toString("utf8") : null;
        },
      ],
    ];
    if (objects) places.push([objects.name, () => newestObject(objects, `checkpoints/${chainId}/`)]);
    const notes = await Promise.all(
      places.map(async ([place, read]) => {
        try {
          return await read();
        } catch (err) {
          log.warn({ err, place, chainId }, "newest checkpoint not readable there");
          return null;
        }
      }),
    );
    return notes.filter((note): note is string => note !== null);
  };
}

async function newestObject(objects: Objects, prefix: string): Promise<string | null> {
  let newest: string | null = null;
  // Keys are padded, so the last is the newest.
  for await (const { key } of objects.list(prefix)) newest = key;
  return newest === null ? null : ((await objects.get(newest))?.toString("utf8") ?? null);
}
