import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { forAll, forEach } from "../../api/each.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { doWithDevices, type ManyOperation, manyDeviceOperations } from "../../operations/many-devices.ts";
import { BulkAction } from "../../parts/bulk-action.tsx";
import { Field } from "../../parts/field.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { devicesOf, jobTitle } from "../../rules/job-texts.ts";

type Device = ItemOf<"/api/v1/devices">;
type Asking = ManyOperation | "move" | "group" | null;

/** What can be done with several devices at once. */
export function BulkDevices({ devices, onDone }: { devices: readonly Device[]; onDone(): void }) {
  const [asking, ask] = useState<Asking>(null);
  const forget = useForget();
  const waiting = devices.filter(({ status }) => status === "quarantined");
  const close = () => ask(null);
  const done = () => {
    ask(null);
    onDone();
    void forget("/api/v1/devices", "/api/v1/device-groups");
  };
  return (
    <>
      {manyDeviceOperations
        .filter(({ isReview }) => !isReview || waiting.length > 0)
        .map((operation) => (
          <Operation key={operation.id} name={operation.needs} onClick={() => ask(operation)}>
            <operation.icon size={15} aria-hidden />
            {operation.verb} …
          </Operation>
        ))}
      <Operation name="POST /api/v1/devices/bulk-update" onClick={() => ask("move")}>
        Move to site …
      </Operation>
      <Operation name="POST /api/v1/device-groups/{id}/devices" onClick={() => ask("group")}>
        Add to group …
      </Operation>
      {asking === "move" || asking === "group" ? (
        <AssignDevices isMove={asking === "move"} devices={devices} onClose={close} onDone={done} />
      ) : null}
      {asking !== null && typeof asking === "object" ? (
        <DoWithDevices
          operation={asking}
          devices={asking.isReview ? waiting : devices}
          others={asking.isReview ? devices.length - waiting.length : 0}
          onClose={close}
          onDone={done}
        />
      ) : null}
    </>
  );
}

const itemsOf = (devices: readonly Device[]) => devices.map(({ id, hostname }) => ({ id, name: hostname }));

type DoWithDevicesProps = {
  operation: ManyOperation;
  devices: readonly Device[];
  /** Selected devices that it does not concern. */
  others: number;
  onClose(): void;
  onDone(): void;
};

/** Asks, and does it with all of them, as many at once as the API takes. */
function DoWithDevices({ operation, devices, others, onClose, onDone }: DoWithDevicesProps) {
  const { verb, says, typed, wanted } = operation;
  const title = jobTitle({ action: wanted.action, change: wanted.change ?? null }, devices.length);
  return (
    <BulkAction
      title={`${title}?`}
      verb={verb}
      items={itemsOf(devices)}
      {...(typed ? { typed } : {})}
      work={(ids, onProgress) => forAll(ids, (deviceIds) => doWithDevices(wanted, deviceIds), onProgress)}
      onClose={onClose}
      onDone={onDone}
    >
      <p>{says}</p>
      {others > 0 ? (
        <p className="soft">
          {others.toLocaleString()} of the selected devices wait for no decision, and stay as they are.
        </p>
      ) : null}
    </BulkAction>
  );
}

type AssignDevicesProps = { isMove: boolean; devices: readonly Device[]; onClose(): void; onDone(): void };

/** Moves devices of one organization to one of its sites, or adds them to one of its groups. */
function AssignDevices({ isMove, devices, onClose, onDone }: AssignDevicesProps) {
  const [chosenId, choose] = useState("");
  const [orgId = "", ...others] = [...new Set(devices.map((device) => device.orgId))];
  const isOneOrganization = others.length === 0;
  const query = { orgId, limit: "100" };
  const sites = useGet("/api/v1/orgs/sites", { params: { query } }, { enabled: isMove && isOneOrganization });
  const groups = useGet("/api/v1/device-groups", { params: { query } }, { enabled: !isMove && isOneOrganization });
  const count = devicesOf(devices.length);
  return (
    <BulkAction
      title={isMove ? `Move ${count}` : `Add ${count} to a group`}
      verb={isMove ? "Move" : "Add"}
      items={itemsOf(devices)}
      isDisabled={!isOneOrganization || (!isMove && chosenId === "")}
      work={(ids, onProgress) =>
        isMove
          ? forAll(
              ids,
              (deviceIds) => doWithDevices({ action: "update", change: { siteId: chosenId || null } }, deviceIds),
              onProgress,
            )
          : forEach(ids, joining(chosenId), onProgress)
      }
      onClose={onClose}
      onDone={onDone}
    >
      {isOneOrganization ? (
        <Field label={isMove ? "To the site" : "Group"}>
          <select value={chosenId} onChange={(event) => choose(event.target.value)}>
            <option value="">{isMove ? "none: out of their sites" : "Choose one"}</option>
            <NamedOptions of={(isMove ? sites.data?.data : groups.data?.data) ?? []} />
          </select>
        </Field>
      ) : (
        <p>These devices belong to several organizations: choose one at the top of the page first.</p>
      )}
    </BulkAction>
  );
}

/** One by one: a group takes all devices of a call, or none. */
const joining = (groupId: string) => (deviceId: string) =>
  dataOf(
    api.POST("/api/v1/device-groups/{id}/devices", {
      params: { path: { id: groupId } },
      body: { deviceIds: [deviceId] },
    }),
  );
