import { useGet } from "../api/queries.ts";
import { needOf } from "../rules/attention.ts";
import { whyNot } from "../rules/why-not.ts";
import { useMe } from "./me.tsx";

/** Navigation and overview share these answers; two minutes old is new enough for both. */
const everyMs = 120_000;

/** What needs attention, the worst first: of one organization, or of all that are visible to the user. */
export function useAttention(chosen: string | undefined) {
  const me = useMe();
  const orgId = me.orgId ?? chosen;
  const may = (operation: string) => whyNot(me, operation) === null;
  const params = { params: { query: orgId ? { orgId } : {} } };
  const summary = useGet("/api/v1/devices/summary", params, { everyMs, enabled: may("GET /api/v1/devices/summary") });
  const attention = useGet("/api/v1/attention", params, { everyMs, enabled: may("GET /api/v1/attention") });
  const needs = (attention.data?.data ?? []).map((item) => ({
    ...item,
    ...needOf(item),
    key: `${item.kind} ${item.record?.id ?? item.orgId}`,
  }));
  return {
    needs,
    isLoading: attention.isLoading,
    failure: attention.error?.failure ?? null,
    /** Kinds of which there are more than are listed, and those whose service did not answer. */
    cutKinds: attention.data?.cutKinds ?? [],
    unknownKinds: attention.data?.unknownKinds ?? [],
    summary: summary.data,
  };
}

export type Needed = ReturnType<typeof useAttention>["needs"][number];
