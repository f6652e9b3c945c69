import type { paths } from "@muster/client";
import type { ReactNode } from "react";
import { useForget } from "../api/queries.ts";
import { Confirm } from "./confirm.tsx";

type DeleteRecordProps = {
  name: string;
  verb?: string;
  /** What to type instead of the name. */
  typed?: string;
  /** Throws Failed, which is shown. */
  remove(): Promise<unknown>;
  /** Paths whose answers are stale then. */
  forgets: (keyof paths)[];
  /** Goes to the list that the record was in. */
  leave(): Promise<void>;
  onClose(): void;
  /** What is deleted with the record, and what is kept. */
  children: ReactNode;
};

/** Asks for the name of a record, deletes it and leaves its page. */
export function DeleteRecord(props: DeleteRecordProps) {
  const { name, verb = "Delete", typed = name, remove, forgets, leave, onClose, children } = props;
  const forget = useForget();
  return (
    <Confirm
      title={`${verb} ${name}?`}
      verb={verb}
      typed={typed}
      onClose={onClose}
      action={async () => {
        await remove();
        await forget(...forgets);
        await leave();
      }}
    >
      {children}
    </Confirm>
  );
}
