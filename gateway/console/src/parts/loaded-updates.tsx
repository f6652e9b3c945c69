import type { UseQueryResult } from "@tanstack/react-query";
import { type Failed, useForget } from "../api/queries.ts";
import { AgentUpdates, type Updates, type WantedUpdates } from "./agent-updates.tsx";
import { useWhyNot } from "./me.tsx";
import { toast } from "./said.ts";
import { FailureState, Loading } from "./states.tsx";

type LoadedUpdatesProps = {
  of: UseQueryResult<Updates, Failed>;
  /** The operation that replaces them, whose permission decides who may. */
  needs: string;
  /** Throws Failed, which is shown. */
  put(body: WantedUpdates): Promise<unknown>;
  /** Paths whose answers are stale afterwards. */
  forgets: Parameters<ReturnType<typeof useForget>>;
};

/** Which versions a tenant's devices run, and when they install them, once that was read. */
export function LoadedUpdates({ of: updates, needs, put, forgets }: LoadedUpdatesProps) {
  const why = useWhyNot(needs);
  const forget = useForget();
  if (updates.error) return <FailureState failure={updates.error.failure} onRetry={() => void updates.refetch()} />;
  if (!updates.data) return <Loading what="Loading agent updates" />;
  return (
    <AgentUpdates
      of={updates.data}
      why={why}
      save={async (body) => {
        await put(body);
        toast("Saved; it counts from the next heartbeat on.");
        await forget(...forgets);
      }}
    />
  );
}
