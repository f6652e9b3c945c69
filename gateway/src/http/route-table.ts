import FindMyWay, { type HTTPMethod } from "find-my-way";
import { z } from "zod";
import { fullPath, type LoadClass, type Route } from "../route/route.ts";

/** A row with what serving it needs, worked out once. */
export type Served = {
  row: Route;
  route: string;
  slashSegments: readonly number[];
  load: LoadClass;
  /** Members of the body that are objects of the client's own making, but for the opaque one. */
  freeMembers: readonly string[];
};

/** All rows of one path. */
export type PathEntry = { path: string; byMethod: ReadonlyMap<string, Served>; allow: string };

export type Match = { entry: PathEntry; params: Record<string, string | undefined> };
export type FindRoute = (path: string) => Match | null;

const noQuery = {};
// One tree for all methods: a path is found whatever the method, so that another method is a 405, not a 404.
const anyMethod: HTTPMethod = "GET";

/** Longest value of a path parameter: as long as a request's head may be, so that the row's schema checks it. */
const maxParamLength = 16_384;

/** Builds the table from normalised path to routes. Throws when two routes have the same method and path. */
export function buildRouteTable(rows: readonly Route[]): FindRoute {
  const byPath = new Map<string, Map<string, Served>>();
  for (const row of rows) {
    const path = fullPath(row);
    const methods = byPath.get(path) ?? new Map<string, Served>();
    if (methods.has(row.method)) throw new Error(`${row.method} ${path} is twice in the route table`);
    const load = row.load ?? "interactive";
    const [slashSegments, freeMembers] = [slashSegmentsOf(row, path), freeMembersOf(row)];
    methods.set(row.method, { row, route: `${row.method} ${path}`, slashSegments, load, freeMembers });
    byPath.set(path, methods);
  }
  const router = FindMyWay({ ignoreTrailingSlash: true, maxParamLength, querystringParser: () => noQuery });
  for (const [path, byMethod] of byPath) {
    const get = byMethod.get("GET");
    // HEAD is GET without its body (RFC 9110 section 9.3.2).
    if (get) byMethod.set("HEAD", get);
    const entry: PathEntry = { path, byMethod, allow: [...byMethod.keys(), "OPTIONS"].join(", ") };
    router.on(anyMethod, path, noHandler, entry);
  }
  return (path) => {
    const found = router.find(anyMethod, path);
    return found === null ? null : { entry: found.store as PathEntry, params: found.params };
  };
}

function noHandler(): void {}

/** Members of a row's body that are objects of the client's own making, but for the opaque one. */
export function freeMembersOf({ body, opaque }: Pick<Route, "body" | "opaque">): string[] {
  if (!(body instanceof z.ZodObject)) return [];
  return Object.entries(body.shape)
    .filter(([name, schema]) => name !== opaque && inner(schema) instanceof z.ZodRecord)
    .map(([name]) => name);
}

function inner(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapped ? inner(schema.unwrap()) : schema;
}

function slashSegmentsOf(row: Route, path: string): number[] {
  const segments = path.split("/").slice(1);
  return (row.slashes ?? []).map((name) => segments.indexOf(`:${name}`));
}
