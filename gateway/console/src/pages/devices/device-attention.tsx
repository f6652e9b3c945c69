import { type BodyOf, useGet } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { deviceNeeds } from "../../rules/device-needs.ts";

type DeviceAttentionProps = { of: BodyOf<"/api/v1/devices/{id}">; onUpdates(): void };

/** What of the device needs a look, before all else; nothing for one that is well. */
export function DeviceAttention({ of, onUpdates }: DeviceAttentionProps) {
  const path = "/api/v1/devices/{id}/update-decision";
  const mayRead = useWhyNot(`GET ${path}`) === null;
  const decision = useGet(path, { params: { path: { id: of.id } } }, { enabled: mayRead });
  const needs = deviceNeeds(of, decision.data?.components ?? []);
  return needs.map(({ key, tone, title, sentence, isUpdate }) => (
    <Notice
      key={key}
      tone={tone}
      title={title}
      action={
        isUpdate ? (
          <button type="button" onClick={onUpdates}>
            Updates<span className="visually-hidden"> of the {key}</span>
          </button>
        ) : null
      }
    >
      <Sentence of={`${sentence}.`} />
    </Notice>
  ));
}
