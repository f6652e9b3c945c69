import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readConfig } from "./config.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = () => join(folder, "config.json");
function read(text: string) {
  writeFileSync(file(), text);
  return readConfig(file());
}

describe("a config file", () => {
  it("needs an address alone; state and versions are beside it", () => {
    expect(read('{"url": "https://muster.example/"}')).toMatchObject({
      url: "https://muster.example",
      programFolder: folder,
      stateFolder: join(folder, "state"),
      eventLogs: "system",
      service: true,
    });
  });

  it.each([
    ['{"url": "https://a.example", "lables": {}}', '"lables" is no setting'],
    ['{"url": "https://a.example", "statefolder": "/x"}', '"statefolder" is no setting, "stateFolder" is one'],
    ['{"url": "http://muster.example"}', '"url" must be https: http is for loopback'],
    ['{"url": "https://key:secret@a.example"}', '"url" must have no credential and no query'],
    ['{"url": "ftp://a.example"}', '"url" must be an https URL'],
    ["{}", '"url" must be an https URL'],
    ["[]", "is not an object"],
    ["{", "is not JSON"],
    ['{"url": "https://a.example", "rootKeys": ["x"]}', '"rootKeys": not a verifier key'],
    ['{"url": "https://a.example", "eventLogs": {"file": "syslog"}}', '"eventLogs" must be'],
    ['{"url": "https://a.example", "heartbeatSeconds": 0}', '"heartbeatSeconds" must be a number from 1 to 3600'],
    ['{"url": "https://a.example", "rotateTokenDays": "x"}', '"rotateTokenDays" must be a number from 0 to 365'],
    ['{"url": "https://a.example", "logLevel": "all"}', '"logLevel" must be one of debug, info, warn, error'],
  ])("%s is refused with exit code 3, in one line", (text, message) => {
    const refused = () => read(text);
    expect(refused).toThrow(expect.objectContaining({ exitCode: 3, message: expect.stringContaining(message) }));
    expect(refused).toThrow(expect.objectContaining({ message: expect.not.stringContaining("\n") }));
  });

  it("is refused by its path when it is missing", () => {
    expect(() => readConfig(file())).toThrow(expect.objectContaining({ message: expect.stringContaining(file()) }));
  });
});
