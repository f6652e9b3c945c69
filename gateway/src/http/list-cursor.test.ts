import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { routes } from "../routes/index.ts";
import { bindCursor, hasCursor, type ListOf, unbindCursor } from "./list-cursor.ts";

const caller = { scope: "organization", partnerId: "p", orgId: "o" } as const;
const lists = routes.filter(hasCursor).map((row): [string, ListOf] => {
  const params = Object.fromEntries(Object.keys(row.params?.shape ?? {}).map((name) => [name, "a"]));
  const filters = Object.fromEntries(filtersOf(row).map((name) => [name, "a"]));
  return [row.path, { row, params, query: { page: "1", limit: "50", ...filters }, caller }];
});

function filtersOf({ query }: (typeof routes)[number]): string[] {
  return Object.keys(query?.shape ?? {}).filter((name) => !["page", "limit", "cursor", "skipCount"].includes(name));
}

function read(list: ListOf, cursor: string): string {
  try {
    return unbindCursor(list, cursor);
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

describe("the cursor of a list", () => {
  it.each(lists)("is read by the same list in pages of any size: %s", (_path, list) => {
    const cursor = bindCursor(list, "W10");
    const others = [{ page: "2" }, { limit: "1" }, { skipCount: "true" }, { cursor }, { unset: "" }];
    const read = others.map((other) => unbindCursor({ ...list, query: { ...list.query, ...other } }, cursor));
    expect(read).toEqual(others.map(() => "W10"));
  });

  it.each(lists)("is refused by every other list, record, filter and tenant: %s", (path, list) => {
    const varied = (values: object, name: string) => ({ ...values, [name]: "b" });
    const others: ListOf[] = [
      ...lists.filter(([other]) => other !== path).map(([, other]) => other),
      ...Object.keys(list.params).map((name) => ({ ...list, params: varied(list.params, name) })),
      ...Object.keys(list.query)
        .filter((name) => name !== "page" && name !== "limit")
        .map((name) => ({ ...list, query: varied(list.query, name) })),
      { ...list, caller: { ...caller, orgId: "another" } },
      { ...list, caller: { ...caller, partnerId: "another" } },
      { ...list, caller: { scope: "partner", partnerId: "p", orgId: null } },
    ];
    const cursor = bindCursor(list, "W10");
    expect(others.map((other) => read(other, cursor))).toEqual(others.map(() => "cursor_mismatch"));
  });

  it.each(["", "nonsense", "W10", "short.W10", "twelve-chars.", "twelve-chars.a b", "twelve-chars.W10.W10"])(
    "is not %j",
    (cursor) => {
      expect(lists.slice(0, 1).map(([, list]) => read(list, cursor))).toEqual(["validation_failed"]);
    },
  );
});
