import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Reader } from "@muster/db";
import { type CallContext, validationError } from "@muster/kit";
import {
  ReportKind,
  type ReportRequest,
  type ReportResponseSchema,
  type ReportService,
} from "@muster/proto/muster/audit/v1/report_pb";
import { callContext } from "@muster/rpc";
import { requirePermission, type TenantReader } from "@muster/service";
import { categories, categoryOf } from "../rules/category.ts";
import { actionsOf, type Report } from "../rules/reported-actions.ts";
import { readableRange } from "../store/logs.ts";
import { type CountRow, countRows, countSignIns, newestOf, type ReportQuery, type Span } from "../store/reports.ts";
import { searchPermits } from "../store/search-permits.ts";
import { orgIdOf, timeOf, toMessage } from "./log-messages.ts";

type Deps = TenantReader & { longReads: Reader; reportBudgetMs: number; reportConcurrency: number; now: () => Date };

const defaultSpanMs = 30 * 86_400_000;
const topActors = 20;
const signInSteps = [3_600, 21_600, 86_400];
const stepsMax = 2_200;
const activityActors = 100;

type Counts = { total: bigint; success: bigint; failure: bigint; denied: bigint };
type Response = MessageInitShape<typeof ReportResponseSchema>;

/** Reports: counts by the database over what a list would show. */
export function reportService(deps: Deps): ServiceImpl<typeof ReportService> {
  const { reportBudgetMs: budgetMs } = deps;
  const permits = searchPermits(deps.reportConcurrency, 2_000, "report");

  async function report(kind: Report, request: ReportRequest, context: CallContext): Promise<Response> {
    requirePermission(context, "audit:read");
    const { span, db } = sourceOf(request, deps);
    const range = await readableRange(deps, context, orgIdOf(request.orgId));
    const actions = actionsOf(kind);
    const query: ReportQuery = { range, span, actions };
    const most = kind === "user-activity" ? activityActors : topActors;
    return permits.run(context, async () => {
      const endMs = performance.now() + budgetMs;
      const { counts, actors, actorTotal } = await countRows(db, context, query, most, endMs);
      const rows = actions ? await newestOf(db, context, { ...query, actions }, endMs) : [];
      return {
        from: timestampFromDate(span.from),
        to: timestampFromDate(span.to),
        ...summary(counts, actions),
        actors: actors.map((actor) => ({
          actorType: actor.actor_type,
          actorId: actor.actor_id,
          actorEmail: actor.actor_email ?? "",
          actorName: actor.actor_name ?? "",
          counts: {
            total: BigInt(actor.total),
            success: BigInt(actor.success),
            failure: BigInt(actor.failure),
            denied: BigInt(actor.denied),
          },
          lastAt: timestampFromDate(actor.last_at),
        })),
        actorTotal: BigInt(actorTotal),
        rows: rows.map(toMessage),
      };
    });
  }

  return {
    report: (request, handler) => report(kindOf(request.kind), request, callContext(handler)),

    async countSignIns(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const { span, db } = sourceOf(request, deps);
      const stepMs = stepOf(request.stepSeconds, span);
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
      const counts = await permits.run(context, () =>
        countSignIns(db, context, { range, span, stepMs }, performance.now() + budgetMs),
      );
      return {
        from: timestampFromDate(span.from),
        to: timestampFromDate(span.to),
        counts: counts.map(({ atMs, accepted, refused }) => {
          return { at: timestampFromMs(atMs), accepted: BigInt(accepted), refused: BigInt(refused) };
        }),
      };
    },
  };
}

/** A step in milliseconds. Throws `validation_failed`. */
function stepOf(seconds: number, { from, to }: Span): number {
  if (!signInSteps.includes(seconds)) throw validationError({ step: [`One of ${signInSteps.join(", ")} seconds`] });
  if ((to.getTime() - from.getTime()) / (seconds * 1_000) > stepsMax) {
    throw validationError({ step: [`More than ${stepsMax} steps: choose a longer step or a shorter time`] });
  }
  return seconds * 1_000;
}

function kindOf(kind: ReportKind): Report {
  switch (kind) {
    case ReportKind.CATEGORIES:
      return "categories";
    case ReportKind.USER_ACTIVITY:
      return "user-activity";
    case ReportKind.SECURITY_EVENTS:
      return "security-events";
    case ReportKind.COMPLIANCE:
      return "compliance";
    default:
      throw validationError({ kind: ["Not a report"] });
  }
}

/** A replica is read when it holds the whole span; without an end the span ends with the replica's data. */
function sourceOf(
  request: Pick<ReportRequest, "from" | "to">,
  { db, longReads, now }: Deps,
): { span: Span; db: Database } {
  const picked = longReads.pick();
  const { asOf } = picked;
  if (!asOf) return { span: spanOf(request, now()), db: picked.db };
  const span = spanOf(request, asOf);
  return { span, db: span.to > asOf ? db : picked.db };
}

function spanOf(request: Pick<ReportRequest, "from" | "to">, now: Date): Span {
  const to = timeOf("to", request.to) ?? now;
  const from = timeOf("from", request.from) ?? new Date(to.getTime() - defaultSpanMs);
  if (from > to) throw validationError({ from: ["Must not be after `to`"] });
  return { from, to };
}

const none = (): Counts => ({ total: 0n, success: 0n, failure: 0n, denied: 0n });

/** Sums of the counts: over all, by category, action and day. `actions` non-null: those are listed with zeros, too. */
function summary(rows: readonly CountRow[], actions: readonly string[] | null) {
  const all = none();
  const byCategory = new Map<string, Counts>(categories.map((name) => [name, none()]));
  const byAction = new Map<string, Counts>((actions ?? []).map((name) => [name, none()]));
  const byDay = new Map<string, Counts>();
  const add = (counts: Counts, { result, total }: CountRow) => {
    counts.total += BigInt(total);
    if (result === "success" || result === "failure" || result === "denied") counts[result] += BigInt(total);
  };
  const of = (map: Map<string, Counts>, name: string): Counts => {
    const counts = map.get(name) ?? none();
    map.set(name, counts);
    return counts;
  };
  for (const row of rows) {
    add(all, row);
    add(of(byCategory, categoryOf(row.action)), row);
    add(of(byAction, row.action), row);
    add(of(byDay, row.day), row);
  }
  const most = (a: { counts: Counts }, b: { counts: Counts }) => Number(b.counts.total - a.counts.total);
  return {
    counts: all,
    categories: [...byCategory].map(([category, counts]) => ({ category, counts })),
    actions: [...byAction].map(([action, counts]) => ({ action, category: categoryOf(action), counts })).sort(most),
    days: [...byDay].map(([day, counts]) => ({ day, counts })).sort((a, b) => (a.day < b.day ? -1 : 1)),
  };
}
