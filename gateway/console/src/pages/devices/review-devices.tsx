import { useState } from "react";
import { api } from "../../api/api.ts";
import { forAll } from "../../api/each.ts";
import { dataOf } from "../../api/queries.ts";
import { BulkAction } from "../../parts/bulk-action.tsx";
import { Operation } from "../../parts/operation.tsx";

type Action = "approve" | "merge" | "reject";
type Device = { id: string; hostname: string; status: string };

const questions: Readonly<Record<Action, { verb: string; says: string; needs: string }>> = {
  approve: {
    verb: "Approve",
    says: "Their agents are accepted from now on. The devices with the same hardware ids stay, too.",
    needs: "POST /api/v1/devices/bulk-review",
  },
  merge: {
    verb: "Approve and merge",
    says: "Each takes over site, groups, labels and name of the device with its hardware id, which is decommissioned.",
    needs: "DELETE /api/v1/devices/{id}",
  },
  reject: {
    verb: "Reject",
    says: "They are decommissioned: the tokens of their agents are refused at once and permanently.",
    needs: "DELETE /api/v1/devices/{id}",
  },
};
const actions: readonly Action[] = ["approve", "merge", "reject"];

type ReviewDevicesProps = { devices: readonly Device[]; onClose(): void; onDone(): void };

/** Decides about devices that were installed anew, or that came twice; nothing while none of them waits. */
export function ReviewDevices({ devices, onClose, onDone }: ReviewDevicesProps) {
  const [asking, ask] = useState<Action | null>(null);
  const waiting = devices.filter(({ status }) => status === "quarantined");
  if (waiting.length === 0) return null;
  const count = `${waiting.length.toLocaleString()} ${waiting.length === 1 ? "device" : "devices"}`;
  const question = asking ? questions[asking] : null;
  const close = () => {
    ask(null);
    onClose();
  };
  return (
    <>
      {actions.map((action) => (
        <Operation key={action} name={questions[action].needs} onClick={() => ask(action)}>
          {questions[action].verb} …
        </Operation>
      ))}
      {asking && question ? (
        <BulkAction
          title={`${question.verb}: ${count}`}
          verb={question.verb}
          items={waiting.map(({ id, hostname }) => ({ id, name: hostname }))}
          {...(asking === "reject" ? { typed: count } : {})}
          work={(ids, onProgress) =>
            forAll(
              ids,
              (deviceIds) => dataOf(api.POST("/api/v1/devices/bulk-review", { body: { deviceIds, action: asking } })),
              onProgress,
            )
          }
          onClose={close}
          onDone={() => {
            ask(null);
            onDone();
          }}
        >
          <p>{question.says}</p>
          {waiting.length < devices.length ? (
            <p className="soft">
              {(devices.length - waiting.length).toLocaleString()} of the selected devices wait for no decision, and
              stay as they are.
            </p>
          ) : null}
        </BulkAction>
      ) : null}
    </>
  );
}
