import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { deviceNeeds } from "../../rules/device-needs.ts";

type DeviceAttentionProps = { of: BodyOf<"/api/v1/devices/{id}">; onUpdates(): void };
const [path, rolloutsPath] = ["/api/v1/devices/{id}/update-decision", "/api/v1/agent-versions/rollouts"] as const;

/** What of the device needs a look, before all else; nothing for one that is well. */
export function DeviceAttention({ of, onUpdates }: DeviceAttentionProps) {
  const mayRead = useWhyNot(`GET ${path}`) === null;
  const mayReadRollouts = useWhyNot(`GET ${rolloutsPath}`) === null;
  const decision = useGet(path, { params: { path: { id: of.id } } }, { enabled: mayRead });
  const decisions = decision.data?.components ?? [];
  const isHalted = decisions.some(({ rule }) => rule === "halted");
  const rollouts = useGet(
    rolloutsPath,
    { params: { query: { limit: "100", skipCount: "true" } } },
    { enabled: isHalted && mayReadRollouts },
  );
  // The sentence would be another one as soon as the cause is known.
  if (decision.isLoading || rollouts.isLoading) return null;
  return deviceNeeds(of, decisions, rollouts.data?.data).map(({ key, tone, title, sentence, isUpdate, rolloutId }) => (
    <Notice
      key={key}
      tone={tone}
      title={title}
      action={
        rolloutId ? (
          <Link {...toRecord("/releases/rollouts/$id", { id: rolloutId })} className="button">
            See the rollout
          </Link>
        ) : isUpdate ? (
          <button type="button" onClick={onUpdates}>
            See its updates<span className="visually-hidden">: {key}</span>
          </button>
        ) : null
      }
    >
      <Sentence of={sentence === "" || sentence.endsWith(".") ? sentence : `${sentence}.`} />
    </Notice>
  ));
}
