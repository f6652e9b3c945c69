import { describe, expect, it } from "@jest/globals";
import { expandVariables } from "./roles.ts";
import { sqlCode, sqlPieces, sqlStatements } from "./sql-text.ts";

const tricky = [
  "select 'a;''b', e'\\'; x', \"i;\"\"d\", $$ ; ' $$, $t$ ; $$ ; $t$ -- ; '",
  "/* ; /* nested ; */ ; */ select a$b$c, x'ff', $1",
].join("\n;\n");

describe("sqlStatements", () => {
  it("splits at semicolons of the code only", () => {
    expect(sqlStatements(tricky)).toHaveLength(2);
    expect(sqlStatements("a; -- only a comment\n; b;\n\n")).toEqual(["a", "b"]);
    expect(sqlStatements("do $$ begin null; end $$; select 1")).toEqual(["do $$ begin null; end $$", "select 1"]);
  });

  it("loses nothing", () => {
    expect(
      sqlPieces(tricky)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(tricky);
  });

  it("shows the code without comments and quotes", () => {
    expect(sqlCode("-- hello\n commit")).toBe("commit");
  });
});

describe("expandVariables", () => {
  const expand = (source: string) => expandVariables(source, { x: "it's", y: 'a"b' });

  it("fills in literals and identifiers, quoted", () => {
    expect(expand(`select :'x', :"y"`)).toBe(`select 'it''s', "a""b"`);
  });

  it.each(["select 'a :x', $$ :'x' $$", "-- :'x'\nselect 1", "select x::text, '1'::\"char\", a[1:2]", "/* :'x' */"])(
    "leaves as it is: %s",
    (source) => {
      expect(expand(source)).toBe(source);
    },
  );

  it("refuses a variable that was not given", () => {
    expect(() => expand("select :'z'")).toThrow("no value for the variable z");
  });
});
