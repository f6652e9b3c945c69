import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { afterPoll } from "./after-poll.ts";

const built = new URL("../../dist/http/after-poll.js", import.meta.url).href;
const immediate = promisify(setImmediate);

describe("actions after the poll phase", () => {
  it("run in their order, after what was to run at once", async () => {
    const ran: string[] = [];
    afterPoll(() => ran.push("first"));
    afterPoll(() => ran.push("second"));
    queueMicrotask(() => ran.push("at once"));
    expect(ran).toEqual([]);
    await immediate();
    expect(ran).toEqual(["at once", "first", "second"]);
  });

  it("leave what they add themselves to the next iteration", async () => {
    const ran: string[] = [];
    afterPoll(() => {
      afterPoll(() => ran.push("added"));
      ran.push("adding");
    });
    await immediate();
    expect(ran).toEqual(["adding"]);
    await immediate();
    expect(ran).toEqual(["adding", "added"]);
  });

  it("run although one before them threw, which ends the process as an exception does", async () => {
    const program = `
      import { afterPoll } from ${JSON.stringify(built)};
      afterPoll(() => { throw new Error("of one action"); });
      afterPoll(() => console.log("the other ran"));
    `;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
    await expect(run).rejects.toMatchObject({
      code: 1,
      stdout: "the other ran\n",
      stderr: expect.stringContaining("of one action"),
    });
  });
});
