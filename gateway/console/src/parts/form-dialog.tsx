import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Dialog, DialogActions } from "./dialog.tsx";
import forms from "./field.module.css";
import { FormActions } from "./form-actions.tsx";
import { FailureState } from "./states.tsx";
import { useWrite } from "./use-write.ts";

/** The API's error texts for a field. */
export type ErrorsOf = (field: string) => readonly string[] | undefined;

type FormDialogProps<T> = {
  title: string;
  /** Text of the button, and its text while the form is sent. */
  verb: string;
  running: string;
  /** Whether the form cannot be sent yet. */
  isDisabled?: boolean;
  /** Whether the parent replaces the dialog once the form was sent. */
  isKeptOpen?: true;
  /** Sends the form; throws Failed, which is shown here, at its fields where it names some. */
  send(form: FormData): Promise<T>;
  /** Called with the result, once the form has closed. */
  onSent?(result: T): void;
  onClose(): void;
  children(errorsOf: ErrorsOf): ReactNode;
};

/** A form over the page, which closes once it was sent. */
export function FormDialog<T>(props: FormDialogProps<T>) {
  const { title, verb, running, isDisabled = false, isKeptOpen = false, send, onSent, onClose, children } = props;
  const write = useWrite();
  const form = useRef<HTMLFormElement>(null);
  // What concerns a field that the form does not have is shown above it.
  const [isSeen, see] = useState(true);
  useEffect(() => {
    if (write.failure) see(form.current?.querySelector('[aria-invalid="true"], p[role="alert"]') !== null);
  }, [write.failure]);
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const values = new FormData(event.currentTarget);
    const sent = await write.run(async () => ({ result: await send(values) }));
    if (sent === null) return;
    if (!isKeptOpen) onClose();
    onSent?.(sent.result);
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} className={forms.form} onSubmit={submit}>
        {write.failure && !(write.isAtFields && isSeen) ? <FailureState failure={write.failure} /> : null}
        {children(write.errorsOf)}
        <FormActions onCancel={onClose} isRunning={write.isRunning} isDisabled={isDisabled} running={running}>
          {verb}
        </FormActions>
      </form>
    </Dialog>
  );
}

/** Replaces a form whose record belongs to one organization, while none is chosen. */
export const ChooseFirst = ({ title, what, onClose }: { title: string; what: string; onClose(): void }) => (
  <Dialog title={title} onClose={onClose}>
    <p>{what} belongs to one organization: choose it at the top of the page first.</p>
    <DialogActions>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
