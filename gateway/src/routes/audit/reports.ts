import { ReportKind, type ReportResponse, type ResultCounts } from "@muster/proto/muster/audit/v1/report_pb";
import { z } from "zod";
import type { Deps } from "../../route/deps.ts";
import { type Route, type RouteRequest, route } from "../../route/route.ts";
import { id, idOut, only, timeIn, timeOf, timeOut, timestampOf } from "../fields/schemas.ts";
import { access, auditLog, auditLogOf, listErrors, tag } from "./audit-logs.ts";

const reportQuery = z.object({
  orgId: id.optional().meta({ description: only.organization }),
  from: timeIn.optional().meta({ description: "Start of the counted time; without it, 30 days before `to`." }),
  to: timeIn.optional().meta({ description: "End of the counted time; without it, the time of the request." }),
});

const counts = z
  .object({ total: z.int(), success: z.int(), failure: z.int(), denied: z.int() })
  .meta({ id: "AuditCounts", description: "Number of rows, in total and by result." });

const base = z.object({
  from: timeOut,
  to: timeOut,
  counts,
  byDay: z
    .array(counts.extend({ day: z.string().meta({ format: "date", description: "Day in UTC." }) }))
    .meta({ description: "Days that have rows, oldest first." }),
});
const byCategory = z
  .array(counts.extend({ category: z.string() }))
  .meta({ description: "Every category, including those without rows." });
const byAction = z
  .array(counts.extend({ action: z.string(), category: z.string() }))
  .meta({ description: "Sorted by number of rows, largest first." });
const actors = z
  .array(
    counts.extend({
      actorType: z.enum(["user", "api_key", "agent", "system"]),
      id: idOut,
      email: z.string().nullable(),
      name: z.string().nullable(),
      lastAt: timeOut,
    }),
  )
  .meta({ description: "Sorted by number of rows, largest first; each actor has the name of its newest row." });

const categoryReport = base.extend({ byCategory, byAction }).meta({ id: "AuditCategoryReport" });
const activityReport = base
  .extend({
    byCategory,
    users: actors,
    userTotal: z.int().meta({ description: "Number of all actors; at most 100 are listed." }),
  })
  .meta({ id: "AuditUserActivityReport" });
const actionReport = base
  .extend({
    byAction,
    topActors: actors,
    actorTotal: z.int().meta({ description: "Number of all actors; at most 20 are listed." }),
    rows: z.array(auditLog).meta({ description: "The newest 50 rows." }),
  })
  .meta({ id: "AuditActionReport" });

const stepSeconds = { "1h": 3_600, "6h": 21_600, "1d": 86_400 } as const;

const errors = [...listErrors, "time_range_too_wide"] as const;
const row = { method: "GET", access, tag, query: reportQuery, deadline: "report", load: "export", errors } as const;

type Query = z.output<typeof reportQuery>;

const wanted = (kind: ReportKind, { orgId, from, to }: Query) => ({
  kind,
  orgId: orgId ?? "",
  from: timestampOf(from),
  to: timestampOf(to),
});

const categories = route({
  ...row,
  path: "/audit-logs/reports/categories",
  summary: "Audit rows by category and action",
  reply: categoryReport,
  async handle({ query, rpc }, { services }) {
    const reply = await services.auditReports.report(wanted(ReportKind.CATEGORIES, query), await rpc());
    return { ...baseOf(reply), byCategory: categoriesOf(reply), byAction: actionsOf(reply) };
  },
});

const userActivity = route({
  ...row,
  path: "/audit-logs/reports/user-activity",
  summary: "Audit rows by actor",
  reply: activityReport,
  async handle({ query, rpc }, { services }) {
    const reply = await services.auditReports.report(wanted(ReportKind.USER_ACTIVITY, query), await rpc());
    const userTotal = Number(reply.actorTotal);
    return { ...baseOf(reply), byCategory: categoriesOf(reply), users: actorsOf(reply), userTotal };
  },
});

const securityEvents = route({
  ...row,
  path: "/audit-logs/reports/security-events",
  summary: "Security events: sign-ins, permissions, policies, agents' addresses",
  reply: actionReport,
  handle: actionReportOf(ReportKind.SECURITY_EVENTS),
});

const compliance = route({
  ...row,
  path: "/audit-logs/reports/compliance",
  summary: "Compliance-tracked actions: data, devices, policies, scripts, organizations",
  reply: actionReport,
  handle: actionReportOf(ReportKind.COMPLIANCE),
});

const signIns = route({
  ...row,
  path: "/audit-logs/reports/sign-ins",
  summary: "Sign-ins over time, accepted and refused",
  description:
    "Refused ones are counted as the trail has them: the first of each minute and user. Steps without sign-ins are left out. At most 2,200 steps.",
  query: reportQuery.extend({ step: z.enum(["1h", "6h", "1d"]).default("1d") }),
  reply: z.object({
    from: timeOut,
    to: timeOut,
    data: z.array(z.object({ at: timeOut, accepted: z.int(), refused: z.int() }).meta({ id: "SignInCount" })),
  }),
  async handle({ query, rpc }, { services }) {
    const { orgId = "", from, to, step } = query;
    const wanted = { orgId, from: timestampOf(from), to: timestampOf(to), stepSeconds: stepSeconds[step] };
    const reply = await services.auditReports.countSignIns(wanted, await rpc());
    return {
      from: timeOf(reply.from),
      to: timeOf(reply.to),
      data: reply.counts.map(({ at, accepted, refused }) => {
        return { at: timeOf(at), accepted: Number(accepted), refused: Number(refused) };
      }),
    };
  },
});

function actionReportOf(kind: ReportKind) {
  return async (
    { query, rpc }: Pick<RouteRequest<typeof access, undefined, Query>, "query" | "rpc">,
    { services }: Deps,
  ): Promise<z.input<typeof actionReport>> => {
    const reply = await services.auditReports.report(wanted(kind, query), await rpc());
    return {
      ...baseOf(reply),
      byAction: actionsOf(reply),
      topActors: actorsOf(reply),
      actorTotal: Number(reply.actorTotal),
      rows: reply.rows.map(auditLogOf),
    };
  };
}

function baseOf({ from, to, counts: all, days }: ReportResponse) {
  const byDay = days.map(({ day, counts: each }) => ({ day, ...countsOf(each) }));
  return { from: timeOf(from), to: timeOf(to), counts: countsOf(all), byDay };
}

const categoriesOf = (reply: ReportResponse) =>
  reply.categories.map(({ category, counts: each }) => ({ category, ...countsOf(each) }));

const actionsOf = (reply: ReportResponse) =>
  reply.actions.map(({ action, category, counts: each }) => ({ action, category, ...countsOf(each) }));

function actorsOf(reply: ReportResponse): z.input<typeof actors> {
  return reply.actors.map((actor) => ({
    actorType: auditLog.shape.actorType.parse(actor.actorType),
    id: actor.actorId,
    email: actor.actorEmail || null,
    name: actor.actorName || null,
    ...countsOf(actor.counts),
    lastAt: timeOf(actor.lastAt),
  }));
}

function countsOf(message: ResultCounts | undefined): z.input<typeof counts> {
  const { total = 0n, success = 0n, failure = 0n, denied = 0n } = message ?? {};
  return { total: Number(total), success: Number(success), failure: Number(failure), denied: Number(denied) };
}

export const auditReportRoutes: readonly Route[] = [categories, userActivity, securityEvents, compliance, signIns];
