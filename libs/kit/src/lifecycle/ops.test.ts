import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type OpsServer, startOps } from "./ops.ts";
import { Readiness } from "./readiness.ts";

describe("the ops port of a process that starts", () => {
  let readiness: Readiness;
  let ops: OpsServer;
  beforeEach(async () => {
    readiness = new Readiness();
    ops = await startOps({ host: "127.0.0.1", port: 0, readiness });
  });
  afterEach(() => ops.close());
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${ops.port}${path}`)).status;

  it("answers a probe that waits when the start is over", async () => {
    const waiting = status("/readyz?wait");
    // One that does not wait is answered meanwhile.
    expect(await status("/readyz")).toBe(503);
    readiness.set("ready");
    expect(await waiting).toBe(200);
    expect(await status("/readyz?wait")).toBe(200);
  });

  it("answers a probe that waits when the process ends instead", async () => {
    const waiting = status("/readyz?wait");
    expect(await status("/livez")).toBe(200);
    readiness.set("draining");
    expect(await waiting).toBe(503);
  });

  it("lets no probe wait longer than a start may take", async () => {
    await readiness.started(1);
    expect(readiness.state).toBe("starting");
  });
});
