import { describe, expect, it } from "@jest/globals";
import { serializedById } from "./serialized.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("serialised work", () => {
  it("runs one at a time per id and concurrently for different ids", async () => {
    const run = serializedById();
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await tick();
      events.push(`${name} ends`);
      return name;
    };
    const done = await Promise.all([run("x", work("x1")), run("x", work("x2")), run("y", work("y1"))]);
    expect(done).toEqual(["x1", "x2", "y1"]);
    expect(events.indexOf("y1 begins")).toBeLessThan(events.indexOf("x1 ends"));
    expect(events.indexOf("x2 begins")).toBeGreaterThan(events.indexOf("x1 ends"));
  });

  it("continues after a failure, which only its own caller receives", async () => {
    const run = serializedById();
    const failing = run("x", () => Promise.reject(new Error("no")));
    const next = run("x", () => Promise.resolve("yes"));
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });
});
