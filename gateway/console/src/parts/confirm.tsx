import { type ReactNode, useState } from "react";
import type { Failure } from "../api/call.ts";
import { Failed } from "../api/queries.ts";
import { Dialog, DialogActions } from "./dialog.tsx";
import { FailureState } from "./states.tsx";
import { TypedName } from "./typed-name.tsx";

/**
 * Asks before an action and shows its effect; the focus is on Cancel. With `typed`, for what cannot be undone, the user
 * must type that name. `action` throws Failed, which is shown here.
 */
export function Confirm({
  title,
  children,
  verb,
  typed,
  tone = typed === undefined ? undefined : "danger",
  action,
  onClose,
}: {
  title: string;
  children: ReactNode;
  verb: string;
  /** The name to type. */
  typed?: string;
  tone?: "danger" | undefined;
  action(): Promise<void>;
  onClose(): void;
}) {
  const [text, setText] = useState("");
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);

  async function run() {
    setRunning(true);
    setFailure(null);
    try {
      await action();
      onClose();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setFailure(error.failure);
    } finally {
      setRunning(false);
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {typed === undefined ? null : <TypedName name={typed} text={text} onChange={setText} />}
      {failure ? <FailureState failure={failure} /> : null}
      <DialogActions>
        {/* biome-ignore lint/a11y/noAutofocus: Enter must not do what cannot be undone */}
        <button type="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          data-weight={tone === undefined ? "primary" : undefined}
          data-tone={tone}
          disabled={isRunning || (typed !== undefined && text !== typed)}
          onClick={() => void run()}
        >
          {isRunning ? "Working …" : verb}
        </button>
      </DialogActions>
    </Dialog>
  );
}
