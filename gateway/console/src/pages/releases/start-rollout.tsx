import type { paths } from "@muster/client";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/api.ts";
import type { Failure } from "../../api/call.ts";
import { dataOf, Failed, useForget } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { toRecord } from "../../parts/links.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { toast } from "../../parts/said.ts";

type Rollouts = paths["/api/v1/agent-versions/rollouts"]["post"];
type Counted = { name: string; devices: number; ownDevices: number };

/** A rollout that was counted and not started: its body for the API, and the devices of each ring. */
export type Planned = {
  body: NonNullable<Rollouts["requestBody"]>["content"]["application/json"];
  counted: readonly Counted[];
};

type StartRolloutProps = {
  of: Planned;
  onClose(): void;
  /** Refusals that name fields are shown at them: the question closes. */
  onFailed(failure: Failure): void;
};

/** Shows how many devices each wave has, then starts the rollout and opens its page. */
export function StartRollout({ of: { body, counted }, onClose, onFailed }: StartRolloutProps) {
  const navigate = useNavigate();
  const forget = useForget();
  const start = async () => {
    try {
      const { id } = await dataOf(api.POST("/api/v1/agent-versions/rollouts", { body }));
      await forget("/api/v1/agent-versions");
      toast("The rollout has started.");
      await navigate(toRecord("/releases/rollouts/$id", { id }));
    } catch (error) {
      if (error instanceof Failed && error.failure.details) return onFailed(error.failure);
      throw error;
    }
  };
  return (
    <Confirm title={`Roll ${body.component} ${body.version} out?`} verb="Start" onClose={onClose} action={start}>
      {counted.length > 0 ? (
        <PlainTable columns={["Wave", "Devices", "Of them in no earlier wave"]}>
          {counted.map(({ name, devices, ownDevices }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="number">{devices.toLocaleString()}</td>
              <td className="number">{ownDevices.toLocaleString()}</td>
            </tr>
          ))}
        </PlainTable>
      ) : (
        <p>Every device of the fleet within {body.percent ?? 100} % is offered it.</p>
      )}
      <p>
        {body.allowDowngrade
          ? "Devices that run a newer version install this one."
          : "It halts by itself when too many updates fail."}
      </p>
    </Confirm>
  );
}
