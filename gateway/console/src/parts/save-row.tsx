import { useEffect, useRef, useState } from "react";
import { fieldsOf } from "../rules/form-values.ts";

type SaveRowProps = {
  /** Why the form cannot be saved; null while it can. */
  why: string | null;
  write: { isRunning: boolean; failure: unknown };
  /**
   * Whether there is something to save, of a form whose fields have no names: without it there is no button. Else the
   * row finds out itself.
   */
  isChanged?: boolean;
};

/** The end of a form inside a page: its button, the primary one once there is something to save. */
export function SaveRow({ why, write: { isRunning, failure }, isChanged }: SaveRowProps) {
  const button = useRef<HTMLButtonElement>(null);
  const saved = useRef("");
  const [isTouched, setTouched] = useState(false);
  useEffect(() => {
    const form = button.current?.form;
    if (!form || isRunning || failure) return;
    saved.current = fieldsOf(form);
    setTouched(false);
  }, [isRunning, failure]);
  useEffect(() => {
    const form = button.current?.form;
    const look = () => form && setTouched(fieldsOf(form) !== saved.current);
    form?.addEventListener("input", look);
    return () => form?.removeEventListener("input", look);
  }, []);
  return (
    <>
      {why ? <p className="soft">{why}</p> : null}
      <div hidden={isChanged === false}>
        <button
          ref={button}
          type="submit"
          data-weight={(isChanged ?? isTouched) ? "primary" : undefined}
          disabled={isRunning || why !== null}
        >
          {isRunning ? "Saving …" : "Save"}
        </button>
      </div>
    </>
  );
}
