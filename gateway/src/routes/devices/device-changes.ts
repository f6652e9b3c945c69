import { z } from "zod";
import { inAccessScope } from "../../auth/access-scope.ts";
import type { ChangeMessage, DeviceChange } from "../../clients/device-change-feed.ts";
import { queuedChanges } from "../../clients/device-change-queue.ts";
import { linesType, longestSeconds, streamedLines, tickMs } from "../../http/json-lines.ts";
import { type Route, route } from "../../route/route.ts";
import { id, only } from "../fields/schemas.ts";

/** Seconds that a stream lasts; 0 only checks whether it would begin. */
export const secondsIn = z
  .string()
  .regex(/^\d{1,3}$/, "Must be a number")
  .transform(Number)
  .pipe(z.int().max(longestSeconds, `At most ${longestSeconds}`))
  .default(longestSeconds)
  .meta({
    description: `Seconds until the stream ends, at most ${longestSeconds}; the client then reconnects. 0 only checks whether a stream would be admitted.`,
    example: "0",
  });

/** What rows that answer with lines for minutes have in common. */
export const streamed = {
  deadline: "stream",
  load: "stream",
  noStore: true,
  reply: z.string(),
  file: {
    contentTypes: [linesType],
    headers: { "X-Accel-Buffering": "`no`: proxies forward each line immediately." },
  },
} as const;

const changes = route({
  method: "GET",
  path: "/devices/changes",
  access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
  tag: "Devices",
  summary: "Changes of devices as they happen",
  description:
    'JSON lines. `{"kind": "current"}` first, and again whenever changes may have been missed: the client then reads the devices again. Later changes are ' +
    'delivered at most once. `{"kind": "device", "change", "id", "orgId", "siteId", "status"}` with `change` one of created, updated, decommissioned: a field of ' +
    'the device has changed, presence included; a heartbeat alone is no change. `{"kind": "alive"}` after 15 s of silence. No line is sent when a device leaves the set that ' +
    "the caller can read. The stream ends after `seconds`, and within a second when the caller's session ends or their rights change.",
  query: z.object({
    orgId: id.optional().meta({ description: only.organization }),
    siteId: id.optional().meta({ description: only.site }),
    seconds: secondsIn,
  }),
  ...streamed,
  errors: ["organization_not_found", "site_not_found"],
  async handle(request, { services, changes }) {
    const { session, query, rpc } = request;
    const { orgId = "", siteId = "", seconds } = query;
    // Checked by tenancy: a tenant that is missing or outside of the access scope answers as it does for their list.
    const page = { page: 1, limit: 1, skipCount: true };
    if (orgId || siteId) await services.devices.listDevices({ orgId, siteId, page }, await rpc());
    const isWanted = (change: DeviceChange) => isOf(change, { orgId, siteId }) && inAccessScope(session.caller, change);
    return streamedLines(request, seconds, linesOf(queuedChanges(changes, isWanted, tickMs)));
  },
});

const isOf = (change: DeviceChange, { orgId, siteId }: { orgId: string; siteId: string }) =>
  (orgId === "" || change.orgId === orgId) && (siteId === "" || change.siteId === siteId);

async function* linesOf(messages: AsyncIterable<ChangeMessage | null>) {
  for await (const each of messages) yield each === null ? null : lineOf(each);
}

function lineOf(message: ChangeMessage) {
  if (message === "current") return { kind: "current" };
  const { change, id, orgId, siteId, status } = message;
  return { kind: "device", change, id, orgId, siteId, status };
}

export const deviceChangeRoutes: readonly Route[] = [changes];
