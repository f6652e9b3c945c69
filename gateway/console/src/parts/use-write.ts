import { useState } from "react";
import type { Failure } from "../api/call.ts";
import { Failed } from "../api/queries.ts";
import { errorsAt } from "../rules/field-errors.ts";

type WriteOptions = { onFailure?: (failure: Failure) => void };

/** A write of a form: whether it is running, what went wrong, and the API's error texts per field. */
export function useWrite() {
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  return {
    isRunning,
    failure,
    errorsOf: (field: string) => errorsAt(failure?.details?.fieldErrors, field),
    /** Whether the failure is shown at fields only. */
    isAtFields: failure?.details !== undefined && Object.keys(failure.details.fieldErrors).length > 0,
    /** Shows a failure of something that was sent elsewhere. */
    fail: setFailure,
    /** Runs the write; resolves with its result, or null when it failed. */
    async run<T>(write: () => Promise<T>, { onFailure }: WriteOptions = {}): Promise<T | null> {
      setRunning(true);
      setFailure(null);
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof Failed)) throw error;
        setFailure(error.failure);
        onFailure?.(error.failure);
        return null;
      } finally {
        setRunning(false);
      }
    },
  };
}
