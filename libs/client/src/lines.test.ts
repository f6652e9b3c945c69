import { describe, expect, it } from "@jest/globals";
import { linesOf } from "./lines.ts";

const pieces = (...texts: (string | Uint8Array)[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(typeof text === "string" ? new TextEncoder().encode(text) : text);
      controller.close();
    },
  });

async function all(body: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of linesOf(body)) lines.push(line);
  return lines;
}

describe("lines of JSON", () => {
  it("come whole, however the network cuts them, a letter of two bytes included", async () => {
    const bytes = new TextEncoder().encode('{"a":"ä"}\n{"b":2}\n');
    const cuts = Array.from(bytes, (_, at) => bytes.slice(at, at + 1));
    expect(await all(pieces(...cuts))).toEqual([{ a: "ä" }, { b: 2 }]);
    expect(await all(pieces('{"a":1}\n\n{"b"', ":2}\n", '{"c":3}'))).toEqual([{ a: 1 }, { b: 2 }]);
    expect(await all(pieces())).toEqual([]);
  });

  it("release the reply as soon as the consumer stops", async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('{"n":1}\n')),
      cancel() {
        isCancelled = true;
      },
    });
    for await (const line of linesOf(body)) {
      expect(line).toEqual({ n: 1 });
      break;
    }
    expect(isCancelled).toBe(true);
  });
});
