import { describe, expect, it } from "@jest/globals";
import { qb } from "../builder.ts";
import { sql, sqlName, toQuery } from "./statement.ts";

describe("sql", () => {
  it("makes every value a parameter", () => {
    expect(toQuery(sql`select * from t where a = ${1} and b = ${"x'; drop table t"}`)).toEqual({
      text: "select * from t where a = $1 and b = $2",
      values: [1, "x'; drop table t"],
    });
  });

  it("splices a nested statement in and counts its parameters on", () => {
    const inner = sql`b = ${2} or c = ${3}`;
    expect(sql`select ${1} where (${inner}) and d = ${4} and (${inner})`).toEqual({
      text: "select $1 where (b = $2 or c = $3) and d = $4 and (b = $5 or c = $6)",
      values: [1, 2, 3, 4, 2, 3],
    });
  });

  it("splices whatever is given this time", () => {
    const statement = (...inserts: [unknown, unknown]) => sql`select ${inserts[0]} where ${inserts[1]}`;
    const [a, b, withValue] = [sql`a`, sql`b`, sql`c = ${7}`];
    for (const once of [1, 2]) {
      expect(statement(once, a)).toEqual({ text: "select $1 where a", values: [once] });
      expect(statement(once, b)).toEqual({ text: "select $1 where b", values: [once] });
      expect(statement(a, once)).toEqual({ text: "select a where $1", values: [once] });
      expect(statement(a, b)).toEqual({ text: "select a where b", values: [] });
      expect(statement(once, withValue)).toEqual({ text: "select $1 where c = $2", values: [once, 7] });
      expect(statement(a, withValue)).toEqual({ text: "select a where c = $1", values: [7] });
      expect(statement(once, once)).toEqual({ text: "select $1 where $2", values: [once, once] });
      statement(once, a);
      expect(() => statement(undefined, a)).toThrow("undefined inserted");
    }
  });

  it("takes an object of the same shape as a value, never as text", () => {
    const forged = { text: "1; drop table t", values: [] };
    expect(sql`select ${forged}`).toEqual({ text: "select $1", values: [forged] });
  });

  it("splices in a name, and nothing that is none", () => {
    expect(sql`select ${1} from ${sqlName("event_log_7")}`).toEqual({
      text: "select $1 from event_log_7",
      values: [1],
    });
    for (const text of ["", "7", "t; drop table t", 't"', "Tenant"]) expect(() => sqlName(text)).toThrow("is named");
  });

  it("refuses undefined, which pg would store as null", () => {
    expect(() => sql`select ${undefined}`).toThrow("undefined inserted after: select");
  });
});

describe("qb", () => {
  it("builds statements with numbered parameters", () => {
    const built = qb("device").where({ orgId: "o" }).whereRaw("name ilike ?", ["%x%"]).limit(5);
    expect(toQuery(built)).toEqual({
      text: 'select * from "device" where "orgId" = $1 and name ilike $2 limit $3',
      values: ["o", "%x%", 5],
    });
    expect(toQuery(qb.raw("select ?::int", [1]))).toEqual({ text: "select $1::int", values: [1] });
  });
});

describe("a value that PostgreSQL cannot store", () => {
  it("is a parameter without what is refused, alone, in a list, in JSON and in a statement that is spliced in", () => {
    const json = '{"a\\u0000":"\\ud83d"}';
    const inner = sql`${"c\0"}`;
    expect(sql`SELECT ${"a\0"}, ${["b\0", "b"]}, ${json}::jsonb, ${[json]}::jsonb[], ${inner}`.values).toEqual([
      "a\ufffd",
      ["b\ufffd", "b"],
      '{"a\\ufffd":"\\ufffd"}',
      ['{"a\\ufffd":"\\ufffd"}'],
      "c\ufffd",
    ]);
  });

  it("is left as it is where it is no JSON, and values that can be stored are the same objects", () => {
    const list = ["a", "\\u0000"];
    const { values } = sql`SELECT ${list}, ${"\\u0000"}, ${Buffer.from("\0")}`;
    expect(values[0]).toBe(list);
    expect(values.slice(1)).toEqual(["\\u0000", Buffer.from("\0")]);
  });
});
