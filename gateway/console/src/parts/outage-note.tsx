import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../api/queries.ts";
import { connectedByStatus } from "../rules/connected.ts";
import { to } from "./links.ts";
import { Notice } from "./notice.tsx";
import { Time } from "./time.tsx";

type OutageNoteProps = {
  /** An organization, or one of its sites. */
  of: { orgId: string; siteId?: string };
  summary: BodyOf<"/api/v1/devices/summary"> | undefined;
};

/** That more of its devices are offline than usual; nothing while they are not. */
export function OutageNote({ of, summary }: OutageNoteProps) {
  const { offline, tone, total } = connectedByStatus(summary?.byStatus ?? []);
  if (tone === null) return null;
  const all = offline === total;
  return (
    <Notice
      tone={tone}
      title={all ? "All its devices are offline." : `${offline.toLocaleString()} of its devices are offline.`}
      action={
        <Link {...to("/devices", { ...of, status: "offline" })} className="button">
          See offline devices
        </Link>
      }
    >
      {all ? <LastSeen of={of} /> : `${total.toLocaleString()} should be connected.`}
    </Notice>
  );
}

/** When the last device of an owner was seen that has none online, and what that means. */
function LastSeen({ of }: Pick<OutageNoteProps, "of">) {
  // Whoever never connected has no time, and would come first.
  const seen = { seenAfter: "1970-01-01", sort: "-lastSeenAt", limit: "1" };
  const query = { ...of, ...seen, status: "offline", skipCount: "true" } as const;
  const { data } = useGet("/api/v1/devices", { params: { query } }, { freshMs: 60_000 });
  if (!data) return null;
  const last = data.data[0]?.lastSeenAt;
  if (!last) return "None of them has connected yet.";
  return (
    <>
      The last was seen <Time at={last} />: the network, or the line, may be down.
    </>
  );
}
