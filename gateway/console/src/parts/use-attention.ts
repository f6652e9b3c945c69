import { useState } from "react";
import type { Failure } from "../api/call.ts";
import { useGet } from "../api/queries.ts";
import {
  type Need,
  needOfKey,
  needOfQuarantine,
  needOfRollout,
  needOfStream,
  needOfWebhook,
} from "../rules/attention.ts";
import { whyNot } from "../rules/why-not.ts";
import { type PageLink, to, toRecord } from "./links.ts";
import { useMe } from "./me.tsx";

/** Navigation and overview share these answers; two minutes old is new enough for both. */
const everyMs = 120_000;
/** Two weeks: time to rotate a key before its programs stop. */
const endingWithinMs = 14 * 86_400_000;

export type Needed = Need & { key: string; link: PageLink; verb: string };

/** What needs attention, the worst first: of one organization, or of all that are visible to the user. */
export function useAttention(chosen: string | undefined) {
  const me = useMe();
  const orgId = me.orgId ?? chosen;
  const may = (operation: string) => whyNot(me, operation) === null;
  const of = orgId ? { orgId } : {};
  // One moment for as long as the page is open: another one each time would be another request each time.
  const [expiresBefore] = useState(() => new Date(Date.now() + endingWithinMs).toISOString());
  const summary = useGet(
    "/api/v1/devices/summary",
    { params: { query: of } },
    { everyMs, enabled: may("GET /api/v1/devices/summary") },
  );
  const rollouts = useGet(
    "/api/v1/agent-versions/rollouts",
    { params: { query: { limit: "20", skipCount: "true" } } },
    { everyMs, enabled: may("GET /api/v1/agent-versions/rollouts") },
  );
  const webhooks = useGet(
    orgId ? "/api/v1/webhooks" : "/api/v1/webhooks/all",
    { params: { query: { status: "failed", limit: "20", skipCount: "true", ...of } } },
    { everyMs, enabled: may("GET /api/v1/webhooks") },
  );
  const streams = useGet(
    "/api/v1/audit-logs/streams",
    { params: { query: { limit: "20", skipCount: "true", ...of } } },
    { everyMs, enabled: orgId !== undefined && may("GET /api/v1/audit-logs/streams") },
  );
  const keys = useGet(
    "/api/v1/api-keys",
    { params: { query: { status: "active", expiresBefore, limit: "20", skipCount: "true", ...of } } },
    { everyMs, enabled: may("GET /api/v1/api-keys") },
  );
  const failures = [summary, rollouts, webhooks, streams, keys].flatMap(({ error }) => (error ? [error.failure] : []));
  const quarantined = summary.data?.byStatus.find(({ status }) => status === "quarantined")?.count ?? 0;
  const needs: Needed[] = [
    ...(rollouts.data?.data ?? []).flatMap((each) => {
      const need = needOfRollout(each);
      return need
        ? [{ ...need, key: each.id, link: toRecord("/releases/rollouts/$id", { id: each.id }), verb: "Review" }]
        : [];
    }),
    ...(webhooks.data?.data ?? []).map((each) => ({
      ...needOfWebhook(each),
      key: each.id,
      link: toRecord("/webhooks/$id", { id: each.id }, { orgId }),
      verb: "Open",
    })),
    ...(streams.data?.data ?? [])
      .filter(({ status, consecutiveFailures }) => status === "failed" || consecutiveFailures > 0)
      .map((each) => ({ ...needOfStream(each), key: each.id, link: to("/audit/streams", { orgId }), verb: "Open" })),
    ...(quarantined > 0
      ? [
          {
            ...needOfQuarantine(quarantined),
            key: "quarantined",
            link: to("/devices", { orgId, status: "quarantined" }),
            verb: "Decide",
          },
        ]
      : []),
    ...(keys.data?.data ?? []).map((each) => ({
      ...needOfKey(each, new Date()),
      key: each.id,
      link: to("/keys", { orgId, status: "active", expiresBefore }),
      verb: "Rotate",
    })),
  ];
  const isLoading = [summary, rollouts, webhooks, streams, keys].some(({ isLoading: isFirst }) => isFirst);
  return { needs, isLoading, failure: failures.find(worthSaying) ?? null, summary: summary.data };
}

/** A list per organization that is not chosen yet is no failure. */
const worthSaying = ({ code }: Failure) => code !== "organization_context_required";
