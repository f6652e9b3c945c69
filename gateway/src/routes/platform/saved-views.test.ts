import { describe, expect, it } from "@jest/globals";
import { routes } from "../index.ts";
import { viewedLists } from "./saved-views.ts";

describe("the lists of saved views", () => {
  // The caller's own sessions, and rows of one parent that no one filters.
  const without = [
    "/auth/sessions",
    "/saved-views",
    "/audit-logs",
    "/audit-logs/search",
    "/webhooks/all",
    "/webhooks/portal-links",
  ];
  it("are all lists that have filters", () => {
    const filtered = routes.filter(({ method, query }) => {
      const names = Object.keys(query?.shape ?? {});
      const isPaged = method === "GET" && names.includes("cursor");
      return isPaged && names.some((name) => !["page", "limit", "cursor", "skipCount"].includes(name));
    });
    const listed = new Set<string>([...Object.values(viewedLists), ...without]);
    expect(filtered.map(({ path }) => path).filter((path) => !listed.has(path))).toEqual([]);
  });
});
