import { Link } from "@tanstack/react-router";
import type { BodyOf } from "../api/queries.ts";
import { connectedOf } from "../rules/connected.ts";
import { counted } from "../rules/counted.ts";
import { to } from "./links.ts";
import { Notice } from "./notice.tsx";

type OutageNoteProps = {
  /** An organization, or one of its sites. */
  of: { orgId: string; siteId?: string };
  summary: BodyOf<"/api/v1/devices/summary"> | undefined;
};

/** That more of its devices are offline than usual; nothing while they are not. */
export function OutageNote({ of, summary }: OutageNoteProps) {
  const count = (status: string) => summary?.byStatus.find((each) => each.status === status)?.count ?? 0;
  const offline = count("offline");
  const { tone, total } = connectedOf({ online: count("online"), updating: count("updating"), offline });
  if (tone === null) return null;
  const all = offline === total;
  return (
    <Notice
      tone={tone}
      title={all ? "All its devices are offline." : `${offline.toLocaleString()} of its devices are offline.`}
      action={
        <Link {...to("/devices", { ...of, status: "offline" })} className="button">
          See {counted(offline, "offline devices")}
        </Link>
      }
    >
      {all ? "Its network, or its line, may be down" : `${total.toLocaleString()} should be connected`}.
    </Notice>
  );
}
