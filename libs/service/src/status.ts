import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Database, standingOf } from "@muster/db";
import type { Readiness } from "@muster/kit";
import type { GetStatusResponse, NewerReleaseSchema, StatusService } from "@muster/proto/muster/common/v1/status_pb";
import { callContext } from "@muster/rpc";
import { requirePermission, requireScope } from "./guards.ts";

/** Figures of one service besides those that all services have. */
export type OwnFigures = Partial<Pick<GetStatusResponse, "deliveriesDue" | "deliveriesOldestDueSeconds">> & {
  newerRelease?: MessageInitShape<typeof NewerReleaseSchema>;
};

type Deps = {
  db: Database;
  version: string;
  readiness: Readiness;
  ownFigures?: (() => Promise<OwnFigures>) | undefined;
};

/** State of the service, for platform operators. */
export function statusService({ db, version, readiness, ownFigures }: Deps): ServiceImpl<typeof StatusService> {
  return {
    async getStatus(_request, handler) {
      const context = callContext(handler);
      requireScope(context, "system");
      requirePermission(context, "platform:admin");
      const [checks, standing, own] = await Promise.all([readiness.verbose(), standingOf(db), ownFigures?.() ?? {}]);
      return {
        version,
        ready: readiness.ready,
        checks,
        outboxWaiting: BigInt(standing.outboxWaiting),
        outboxOldestSeconds: standing.outboxOldestSeconds,
        deadLetters: BigInt(standing.deadLetters),
        openJobs: BigInt(standing.openJobs),
        ...own,
      };
    },
  };
}
