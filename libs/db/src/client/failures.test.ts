import { describe, expect, it } from "@jest/globals";
import { publicFailure } from "./failures.ts";

const failed = (code: string) => Object.assign(new Error("refused"), { code });

describe("the error that a caller receives", () => {
  it.each([
    ["a disk that is full", "53100", "unavailable"],
    ["memory that ran out", "53200", "unavailable"],
    ["a limit of the server that was reached", "53400", "unavailable"],
    ["too many connections", "53300", "unavailable"],
    ["a server that became a standby", "25006", "unavailable"],
    ["a transaction that lost to another", "40001", "unavailable"],
    ["a statement that was cancelled by its time", "57014", "deadline_exceeded"],
  ])("%s", (_what, code, reported) => {
    const error = failed(code);
    expect(publicFailure(error)).toMatchObject({ code: reported, cause: error });
  });

  it("an internal failure is not reported as temporary", () => {
    const error = failed("42601");
    expect(publicFailure(error)).toBe(error);
  });
});
