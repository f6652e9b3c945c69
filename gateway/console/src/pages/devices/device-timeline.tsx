import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, Laptop, ScrollText } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { EventList, type ListedEvent } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { actionWords, actorOf, isByUser } from "../../rules/action-words.ts";
import { changedDevice } from "../../rules/changed-fields.ts";
import { reasonSentence } from "../../rules/reason-sentences.ts";

type Device = BodyOf<"/api/v1/devices/{id}">;
const most = 10;

/** What happened to the device: its updates, what people did, and its enrollment, newest first. */
export function DeviceTimeline({ of: { id, orgId, createdAt }, onMore }: { of: Device; onMore(): void }) {
  const params = { path: { id } };
  const mayReadUpdates = useWhyNot("GET /api/v1/devices/{id}/update-decision") === null;
  const mayReadAudit = useWhyNot("GET /api/v1/audit-logs/logs") === null;
  const decision = useGet("/api/v1/devices/{id}/update-decision", { params }, { enabled: mayReadUpdates });
  const query = { orgId, resourceId: id, limit: "20", skipCount: "true" };
  const audit = useGet("/api/v1/audit-logs/logs", { params: { query } }, { enabled: mayReadAudit });
  const moments: ListedEvent[] = [
    ...(decision.data?.attempts ?? []).map((attempt) => ({
      key: attempt.id,
      at: attempt.endedAt ?? attempt.offeredAt,
      icon: attempt.state === "failed" ? CircleAlert : CircleCheck,
      tone: attempt.state === "failed" ? "bad" : undefined,
      text: (
        <>
          {attempt.component} {attempt.fromVersion} → <b>{attempt.version}</b>:{" "}
          <span className={attempt.state === "failed" ? "bad" : undefined}>{attempt.state}</span>
          {attempt.reason ? <span className="soft"> {reasonSentence(attempt.reason)}</span> : null}
        </>
      ),
    })),
    ...(audit.data?.data ?? []).filter(isByUser).map((row) => {
      const { did, kind } = actionWords(row);
      const isDevice = kind === "device";
      const said = did === "changed" && isDevice ? changedDevice(row.details) : `${did} ${isDevice ? "it" : kind}`;
      return {
        key: row.id,
        at: row.timestamp,
        icon: ScrollText,
        text: (
          <Link {...toRecord("/audit/$id", { id: row.id }, { orgId })}>
            <b>{actorOf(row)}</b> {said}
          </Link>
        ),
      };
    }),
    { key: "enrolled", at: createdAt, icon: Laptop, text: "Enrolled" },
  ];
  const newest = moments.sort((a, b) => b.at.localeCompare(a.at)).slice(0, most);
  return (
    <Section
      title="Timeline"
      {...(mayReadAudit
        ? {
            action: (
              <button type="button" data-weight="link" onClick={onMore}>
                All history
              </button>
            ),
          }
        : {})}
    >
      <EventList of={newest} />
    </Section>
  );
}
