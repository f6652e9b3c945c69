import type { components } from "@muster/client";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf } from "../../api/queries.ts";
import type { Wanted } from "../../operations/many-devices.ts";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import forms from "../../parts/field.module.css";
import { toRecord } from "../../parts/links.ts";
import type { Matching } from "../../parts/list-selection.tsx";
import { FailureState } from "../../parts/states.tsx";
import { TypedName } from "../../parts/typed-name.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { devicesOf, jobFilterOf, jobTitle } from "../../rules/job-texts.ts";

type Job = components["schemas"]["DeviceBulkJob"];

type StartJobProps = {
  matching: Matching;
  wanted: Wanted;
  verb: string;
  /** A word to type before what cannot be undone. */
  typed?: string;
  isDisabled?: boolean;
  onStarted(): void;
  onClose(): void;
  /** The effect on the devices, and controls for what the user must choose. */
  children: ReactNode;
};

/**
 * Asks before a job is started for all devices that match, and goes to its page. When another number matches by then,
 * nothing is started: the new number is said, what was typed stays, and the same button starts it for that number.
 */
export function StartJob(props: StartJobProps) {
  const { matching, wanted, verb, typed, isDisabled = false, onStarted, onClose, children } = props;
  const [shownCount] = useState(matching.total);
  const [expectedCount, expect] = useState(shownCount);
  const [text, setText] = useState("");
  const write = useWrite();
  const navigate = useNavigate();
  const title = jobTitle({ action: wanted.action, change: wanted.change ?? null }, expectedCount);
  async function start(event: FormEvent) {
    event.preventDefault();
    const body = { ...wanted, filter: jobFilterOf(matching.filters) as Job["filter"], expectedCount };
    const job = await write.run(() => dataOf(api.POST("/api/v1/devices/bulk-jobs", { body })), {
      onFailure: ({ count }) => count !== undefined && expect(count),
    });
    if (job === null) return;
    onStarted();
    await navigate(toRecord("/devices/bulk-jobs/$id", { id: job.id }, { orgId: matching.filters.orgId }));
  }
  const isChanged = write.failure?.code === "device_count_changed";
  return (
    <Dialog title={`${title}?`} onClose={onClose}>
      <form className={forms.form} onSubmit={(event) => void start(event)}>
        {children}
        <p className="soft">They are changed one after the other, in the background; it can be cancelled.</p>
        {typed === undefined ? null : <TypedName name={typed} text={text} onChange={setText} />}
        {isChanged ? <Changed from={shownCount} to={expectedCount} /> : null}
        {write.failure && !isChanged ? <FailureState failure={write.failure} /> : null}
        <DialogActions>
          {/* biome-ignore lint/a11y/noAutofocus: Enter must not do what cannot be undone */}
          <button type="button" autoFocus onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            data-weight={typed === undefined ? "primary" : undefined}
            data-tone={typed === undefined ? undefined : "danger"}
            disabled={isDisabled || write.isRunning || expectedCount === 0 || (typed !== undefined && text !== typed)}
          >
            {write.isRunning ? "Starting …" : verb}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** That another number of devices matches now, and that nothing has happened. */
const Changed = ({ from, to }: { from: number; to: number }) => (
  <p role="alert">
    {to === 0 ? "No device matches the filters any more" : `${devicesOf(to)} match the filters now`}, not{" "}
    {from.toLocaleString()}. Nothing was changed
    {to === 0 ? "." : ": look at the list again, or go on with the new number."}
  </p>
);
