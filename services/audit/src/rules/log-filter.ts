import type { Category } from "./category.ts";

/** What a list, an export or a search of audit rows is limited to; null and empty: not. */
export type LogFilter = {
  user: string | null;
  action: string | null;
  resource: string | null;
  query: string | null;
  from: Date | null;
  to: Date | null;
  excludeActions: readonly string[];
  /** No target of these types. */
  excludeTargetTypes: readonly string[];
  /** Exactly one of these; empty: any. */
  actions: readonly string[];
  actorId: string | null;
  resourceId: string | null;
  resourceType: string | null;
  result: string | null;
  category: Category | null;
  actorType: string | null;
  /** Id of the resource or of a target. */
  target: string | null;
  ipAddress: string | null;
  /** CIDR. */
  network: string | null;
  sessionId: string | null;
  /** The details have all of one of these objects; empty: any. */
  details: readonly Record<string, unknown>[];
};

/** A filter that matches everything. */
export const noFilter: LogFilter = {
  user: null,
  action: null,
  resource: null,
  query: null,
  from: null,
  to: null,
  excludeActions: [],
  excludeTargetTypes: [],
  actions: [],
  actorId: null,
  resourceId: null,
  resourceType: null,
  result: null,
  category: null,
  actorType: null,
  target: null,
  ipAddress: null,
  network: null,
  sessionId: null,
  details: [],
};
