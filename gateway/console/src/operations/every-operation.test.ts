import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { access } from "@muster/client/access";

// Whatever a person can change in the console is a record of this folder, and is found in the command menu: by the
// name of what it changes (shell/kinds), by its verb alone, or on the page of its record.

const src = fileURLToPath(new URL("..", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.ts$/.test(file));
const textOf = new Map(files.map((file) => [file, readFileSync(join(src, file), "utf8")]));
const textsOf = (folder: string) => [...textOf].filter(([file]) => file.startsWith(folder)).map(([, text]) => text);
const allIn = (texts: readonly string[], pattern: RegExp) =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, first = "", second = ""]) => [first, second] as const));

/** Pages with a session of their own, and what signs people in. */
const elsewhere = ["sign-in/", "portal/", "api/session.ts", "api/passkey.ts", "shell/session-ended.tsx"];

/** Calls that are no operation, or none that has a name, each with the reason. */
const others: Readonly<Record<string, string>> = {
  "POST /api/v1/agent-versions/rollouts/preview": "counts, and changes nothing",
  "POST /api/v1/audit-logs/verify": "verifies, and changes nothing",
  "POST /api/v1/auth/device/lookup": "shows who asks, and changes nothing",
  "POST /api/v1/auth/device/deny": "the other answer to the question of approve",
  "POST /api/v1/auth/mfa/verify": "the second factor of the operation that asked for it",
  "POST /api/v1/devices/bulk-update": "of the rows that are selected; a device has its own",
  "POST /api/v1/devices/bulk-decommission": "of the rows that are selected; a device has its own",
  "POST /api/v1/devices/bulk-review": "of the rows that are selected; a device has its own",
  "POST /api/v1/devices/bulk-jobs": "of the rows that match; a device has its own",
  "POST /api/v1/saved-views": "saves the filters of the list on screen",
};

/** Every call of a function that changes something, as "METHOD path". */
const calls = files
  .filter((file) => !elsewhere.some((each) => file.startsWith(each)))
  .flatMap((file) => {
    const text = textOf.get(file) ?? "";
    const paths = new Map(allIn([text], /const (\w+) = "(\/api\/v1[^"]+)"/g));
    const typed = allIn([text], /api\s*\.(POST|PUT|PATCH|DELETE)\(\s*("[^"]+"|\w+)/g);
    const plain = allIn([text], /\bcall(?:<[^(]*>)?\("(POST|PUT|PATCH|DELETE)", "([^"]+)"/g);
    return [
      ...typed.map(([method, path]) => `${method} ${path.startsWith('"') ? path.slice(1, -1) : paths.get(path)}`),
      ...plain.map(([method, path]) => `${method} /api/v1${path}`),
    ].map((call) => ({ file, call }));
  });

// Operations with many devices belong to the bar of selected rows, which others name.
const records = [...textOf]
  .filter(([file]) => file.startsWith("operations/") && file !== "operations/many-devices.ts")
  .map(([, text]) => text);
const needs = new Set(allIn(records, /needs(?::| =) "([A-Z]+ [^"]+)"/g).map(([call]) => call));

/** Lists of records and single ones, by the names under which they are exported. */
const exported = allIn(records, /export const (\w+): (?:readonly )?Operation</g).map(([name]) => name);
const menu = textsOf("shell/kinds/").join("\n");
const pages = [...textsOf("pages/"), ...textsOf("shell/"), ...textsOf("parts/")].join("\n");

describe("every operation of the console", () => {
  it("is found among the calls that this test reads", () => {
    expect(calls.length).toBeGreaterThan(90);
    expect(exported.length).toBeGreaterThan(40);
  });

  it.each([...new Set(calls.map(({ call }) => call))].sort())("%s is a record, or says why it is none", (call) => {
    const where = calls.filter((each) => each.call === call).map(({ file }) => file);
    expect({ call, where, isRecord: needs.has(call) || call in others }).toEqual({ call, where, isRecord: true });
  });

  it("needs an operation that the API has", () => {
    expect([...needs].filter((call) => access[call] === undefined)).toEqual([]);
  });

  it("has no exception that is not called, or is a record by now", () => {
    const called = new Set(calls.map(({ call }) => call));
    expect(Object.keys(others).filter((call) => !called.has(call) || needs.has(call))).toEqual([]);
  });

  it("has an id of its own", () => {
    const ids = allIn(records, /^\s*(?:\{ )?id: "([a-z-]+\.[a-z-]+)"/gm).map(([id]) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it.each(exported)("%s is in the command menu: by a name, by its verb, or on the page of its record", (name) => {
    const isNamed = new RegExp(`\\b${name}\\b`).test(menu);
    // One that is an element of a list, as the replay of a webhook, is found with the list.
    const isElement = new RegExp(`(?:^|[[,])\\s*${name},?$|= \\[${name}\\]`, "m").test(records.join("\n"));
    const isOnPage = new RegExp(
      `<(?:HeadOperations|LineOperations|OperationButton)\\b[^>]*(?:operations|operation)=\\{\\[?${name}\\b`,
    ).test(pages);
    expect({ name, isFound: isNamed || isElement || isOnPage }).toEqual({ name, isFound: true });
  });
});
