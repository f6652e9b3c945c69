import { describe, expect, it } from "@jest/globals";
import { anyOf, before, conditions, containing, named, nonEmpty, qb, since, until } from "./builder.ts";
import { sql } from "./client/statement.ts";

const time = new Date(0);

describe("conditions", () => {
  it("are spliced into a statement with their values, whatever stands around them", () => {
    const found = conditions((rows) => rows.where({ a: 1 }).orWhere("t.b", "<", 2));
    expect(sql`SELECT ${0} FROM t WHERE ${found} AND c = ${3}`).toEqual({
      text: 'SELECT $1 FROM t WHERE ("a" = $2 or "t"."b" < $3) AND c = $4',
      values: [0, 1, 2, 3],
    });
  });

  it("are true without any", () => {
    expect(conditions((rows) => rows.where(nonEmpty({ a: null, b: "" })))).toEqual({ text: "true", values: [] });
  });

  it("hold only what is given", () => {
    const wanted = (from: Date | null, texts: string[], part: string) =>
      conditions((rows) =>
        rows
          .where(nonEmpty({ a: part, b: from }))
          .modify(anyOf, "c", texts)
          .modify(since, "d", from)
          .modify(until, "d", from)
          .modify(before, "d", from)
          .modify(containing, "e", part)
          .modify(named, "f || g", part),
      );
    expect(wanted(null, [], "")).toEqual({ text: "true", values: [] });
    expect(wanted(time, ["x"], "5%")).toEqual({
      text:
        '("a" = $1 and "b" = $2 and "c" = $3 and "d" >= $4 and "d" <= $5 and "d" < $6 and "e" ilike $7 ' +
        "and position(lower($8) IN lower(f || g)) > 0)",
      values: ["5%", time, "x", time, time, time, "%5\\%%", "5%"],
    });
    expect(wanted(null, ["x", "y"], "")).toEqual({ text: '("c" = ANY ($1::text[]))', values: [["x", "y"]] });
  });

  it("take values as values, and refuse a chain that is more", () => {
    const foreign = "x') OR true --";
    expect(conditions((rows) => rows.where({ a: foreign }).whereIn("b", qb("u").select("id")))).toEqual({
      text: '("a" = $1 and "b" in (select "id" from "u"))',
      values: [foreign],
    });
    expect(() => conditions((rows) => rows.from("t"))).toThrow("more than conditions");
  });
});
