import { expect, it } from "@jest/globals";
import { csvWriter } from "./csv.ts";

it("rows are CSV with one heading, quotes doubled, and no formula", () => {
  const write = csvWriter(["name", "count", "tags", "note"]);
  expect(
    write([
      { name: 'a "b", c', count: 3, tags: ["x", "y"], note: null },
      { name: "=HYPERLINK(1)", count: -1, tags: [], note: "two\nlines" },
    ]),
  ).toBe('name,count,tags,note\r\n"a ""b"", c",3,"[""x"",""y""]",\r\n\'=HYPERLINK(1),-1,[],"two\nlines"\r\n');
  expect(write([{ name: "Rome" }])).toBe("Rome,,,\r\n");
});
