import type { AuditRow } from "../../parts/audit-line.tsx";
import { actorWords } from "../../rules/action-words.ts";
import type { Counts } from "./totals.tsx";

export type ActionCounts = Counts & { action: string; category: string };
export type ActorCounts = Counts & {
  id: string;
  actorType: string;
  email: string | null;
  name: string | null;
  lastAt: string;
};
export type DayCounts = Counts & { day: string };

/** A report of the audit trail: each kind has some of its parts. */
export type Report = {
  from: string;
  to: string;
  counts: Counts;
  byDay: DayCounts[];
  byCategory?: (Counts & { category: string })[];
  byAction?: ActionCounts[];
  users?: ActorCounts[];
  userTotal?: number;
  topActors?: ActorCounts[];
  actorTotal?: number;
  rows?: AuditRow[];
};

export const reportKinds = {
  categories: "By category",
  "user-activity": "By actor",
  "security-events": "Security events",
  compliance: "Compliance",
} as const;
export type ReportKind = keyof typeof reportKinds;

export const isReportKind = (text: string | undefined): text is ReportKind =>
  text !== undefined && Object.hasOwn(reportKinds, text);

/** A day of the report, which are those of UTC, in short. */
export const shownDay = (day: string) =>
  new Date(`${day}T00:00:00.000Z`).toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** How an actor is called in a report. */
export const actorName = ({ email, name, actorType }: ActorCounts): string =>
  actorWords({ actorType, user: { name, email } });
