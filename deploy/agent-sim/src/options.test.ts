import { describe, expect, it } from "@jest/globals";
import { readOptions } from "./options.ts";

describe("the command line", () => {
  it("has a default for everything but the key", () => {
    expect(readOptions([])).toMatchObject({
      url: "http://localhost:3000",
      enrollmentKey: null,
      count: 1,
      channel: true,
    });
    expect(readOptions(["--help"])).toBe("help");
  });

  it.each([
    [["--count", "0"], "--count must be a number from 1 to 50000"],
    [["--count", "many"], "--count must be a number from 1 to 50000"],
    [["--url", "ftp://x"], "--url must be an http or https URL"],
    [["--os", "beos"], "--os must be one of windows, linux, darwin, mixed"],
    [["--nonsense"], "Unknown option '--nonsense'"],
    [["stray"], "Unexpected argument 'stray'"],
  ])("%j is refused", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
