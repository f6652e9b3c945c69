import { useState } from "react";
import type { EachResult } from "../api/each.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Dialog, DialogActions } from "./dialog.tsx";
import { PlainTable } from "./plain-table.tsx";
import { TypedName } from "./typed-name.tsx";

type Item = { id: string; name: string };

type BulkActionProps = {
  title: string;
  verb: string;
  items: readonly Item[];
  /** The effect on these records, and controls for what the user must choose. */
  children: React.ReactNode;
  /** A word to type before an action that cannot be undone. */
  typed?: string;
  isDisabled?: boolean;
  /** Applies it to all of them; receives the number that are done. */
  work(ids: readonly string[], onProgress: (through: number) => void): Promise<EachResult>;
  /** Called when the dialog is closed after records were changed. */
  onDone(): void;
  onClose(): void;
};

/**
 * Applies one action to several records: asks before, shows the progress, and names the refused records with the
 * reason.
 */
export function BulkAction(props: BulkActionProps) {
  const { title, verb, items, children, typed, isDisabled = false, work, onDone, onClose } = props;
  const [through, setThrough] = useState<number | null>(null);
  const [result, setResult] = useState<EachResult | null>(null);
  const [text, setText] = useState("");
  const run = async () => {
    setThrough(0);
    const ids = items.map(({ id }) => id);
    setResult(await work(ids, setThrough));
  };
  if (result) {
    const nameOf = (id: string) => items.find((item) => item.id === id)?.name ?? id;
    return (
      <Dialog title={title} onClose={onDone}>
        <p role="status">
          {result.done.length.toLocaleString()} of {items.length.toLocaleString()} done.
        </p>
        {result.refused.length > 0 ? (
          <PlainTable columns={["Not done", "Why"]}>
            {result.refused.map(({ id, failure }) => (
              <tr key={id}>
                <th scope="row">{nameOf(id)}</th>
                <td>{failureSentence(failure)}</td>
              </tr>
            ))}
          </PlainTable>
        ) : null}
        <DialogActions>
          <button type="button" data-weight="primary" onClick={onDone}>
            Close
          </button>
        </DialogActions>
      </Dialog>
    );
  }
  if (through !== null) {
    return (
      <Dialog title={title}>
        <p role="status">
          {through.toLocaleString()} of {items.length.toLocaleString()} …
        </p>
        <progress max={items.length} value={through} aria-label={title} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {typed === undefined ? null : <TypedName name={typed} text={text} onChange={setText} />}
      <DialogActions>
        {/* biome-ignore lint/a11y/noAutofocus: Enter must not do what cannot be undone */}
        <button type="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          data-weight={typed === undefined ? "primary" : undefined}
          data-tone={typed === undefined ? undefined : "danger"}
          disabled={isDisabled || (typed !== undefined && text !== typed)}
          onClick={() => void run()}
        >
          {verb}
        </button>
      </DialogActions>
    </Dialog>
  );
}
