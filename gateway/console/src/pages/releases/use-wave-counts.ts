import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { draftOf, ringOf } from "../../rules/rings.ts";

type Rings = BodyOf<"/api/v1/agent-versions/rollouts/{id}">["rings"];
const freshMs = 300_000;

/** How many devices each wave has; empty for users who may not count them, and while that is not known. */
export function useWaveCounts(rings: Rings): readonly number[] {
  const isAllowed = useWhyNot("POST /api/v1/agent-versions/rollouts/preview") === null;
  const body = { rings: rings.map((ring) => ringOf(draftOf(ring, ring.name))) };
  const { data } = useQuery({
    queryKey: ["/api/v1/agent-versions/rollouts/preview", body],
    queryFn: () => dataOf(api.POST("/api/v1/agent-versions/rollouts/preview", { body })),
    enabled: isAllowed && rings.length > 0,
    staleTime: freshMs,
  });
  return data?.rings.map(({ devices }) => devices) ?? [];
}
