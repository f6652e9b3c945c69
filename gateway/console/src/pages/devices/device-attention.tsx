import { CircleAlert, TriangleAlert } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { deviceNeeds } from "../../rules/device-needs.ts";
import styles from "./device.module.css";

type DeviceAttentionProps = { of: BodyOf<"/api/v1/devices/{id}">; onUpdates(): void };

/** What of the device needs a look, before all else; nothing for one that is well. */
export function DeviceAttention({ of, onUpdates }: DeviceAttentionProps) {
  const path = "/api/v1/devices/{id}/update-decision";
  const mayRead = useWhyNot(`GET ${path}`) === null;
  const decision = useGet(path, { params: { path: { id: of.id } } }, { enabled: mayRead });
  const needs = deviceNeeds(of, decision.data?.components ?? []);
  if (needs.length === 0) return null;
  return (
    <ul className={styles.needs} aria-label="What needs a look">
      {needs.map(({ key, tone, title, sentence, isUpdate }) => {
        const Icon = tone === "bad" ? CircleAlert : TriangleAlert;
        return (
          <li key={key} className={styles.note} data-tone={tone}>
            <Icon size={17} aria-hidden />
            <span>
              <b>{title}</b> <Sentence of={`${sentence}.`} />
            </span>
            {isUpdate ? (
              <button type="button" onClick={onUpdates}>
                Updates<span className="visually-hidden"> of the {key}</span>
              </button>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}
