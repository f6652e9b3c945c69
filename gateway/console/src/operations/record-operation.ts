import type { paths } from "@muster/client";
import type { LucideIcon } from "lucide-react";
import type { ComponentType, ReactNode } from "react";
import type { ListPagePath, PageLink } from "../parts/links.ts";

/**
 * What a form of an operation gets. `onDone` makes lists be read again, and says what is different now where the form
 * does not show it itself.
 */
export type FormProps<R> = { of: R; onClose(): void; onDone(sentence?: string): Promise<void> };

/** The question before an operation. With `typed`, for what cannot be undone, that name must be typed. */
export type Question<R> = {
  title(record: R): string;
  /** What changes with it, and what stays. */
  says(record: R): ReactNode;
  typed?(record: R): string;
};

/** What came of an operation, where there is more than its sentence: another one, or what is shown this once. */
export type Outcome = { says?: string; shows?: (close: () => void) => ReactNode };

/** An outcome that is shown this once: a secret, a link. */
export const shown = (shows: NonNullable<Outcome["shows"]>): Outcome => ({ shows });

/**
 * What can be done with a record, once: the head of its page, the menu of its row, the bar of selected rows and the
 * command menu all render it from here.
 */
export type Operation<R> = {
  /** Unique, as `device.decommission`. */
  id: string;
  /** What the button says, and the button of the question. */
  verb: string;
  /** Other words by which it is found in the command menu. */
  alsoCalled?: readonly string[];
  /** The API's operation, whose permission decides who may use it. */
  needs: string;
  icon: LucideIcon;
  /** For what cannot be undone. */
  tone?: "danger";
  /** A button of its own in the head of the page, not in the menu; the primary one where it is wanted next. */
  shown?: "button" | "primary";
  /** Whether it is what the record waits for: a button of its own in the row of a list. */
  isNext?(record: R): boolean;
  /** Its form is a part of the record's page, whose head does not repeat it. */
  isOnPage?: true;
  /** Whether the record is in a state in which it can be done. */
  isOffered?(record: R): boolean;
  /** Asked before `run`; without it there is nothing to ask. */
  asks?: Question<R>;
  /** A form instead of a question. */
  form?: ComponentType<FormProps<R>>;
  /** The page on which it is done, where that takes more than a question or a form. */
  leads?(record: R): PageLink;
  /** Throws Failed, which is shown. */
  run?(record: R): Promise<Outcome | undefined>;
  /** What is different now, as a sentence, where the outcome has none. */
  done?(record: R): string;
  /** Paths whose answers are stale afterwards. */
  forgets: readonly (keyof paths)[];
  /** The list to go to, when the record is gone. */
  leaves?: ListPagePath;
};

/** The operations that a record's state allows, with their reasons left to whoever renders them. */
export const offeredFor = <R>(operations: readonly Operation<R>[], record: R): readonly Operation<R>[] =>
  operations.filter(({ isOffered }) => isOffered?.(record) ?? true);

/** Whether something is asked first, which the button says by an ellipsis. */
export const asksFirst = <R>({ asks, form }: Operation<R>) => Boolean(asks ?? form);

/** Starts an operation: asks first where it asks, shows a failure there, and says what is different. */
export type Run = <R>(operation: Operation<R>, record: R) => void;

/** An operation together with its record, whatever that is. */
export type AnyOperation = Pick<Operation<never>, "id" | "verb" | "needs" | "icon" | "alsoCalled"> & {
  /** Of the record, for people; where names repeat, `note` tells records apart, and `key` always does. */
  name: string;
  note?: string;
  key: string;
  asksFirst: boolean;
  start(run: Run): void;
};

const idOf = (record: unknown): string | null =>
  typeof record === "object" && record !== null && "id" in record ? String(record.id) : null;

/** Operations together with a record. */
export const onRecord = <R>(
  operations: readonly Operation<R>[],
  record: R,
  { name, note }: { name: string; note?: string },
): readonly AnyOperation[] =>
  operations.map((operation) => ({
    id: operation.id,
    verb: operation.verb,
    needs: operation.needs,
    icon: operation.icon,
    ...(operation.alsoCalled ? { alsoCalled: operation.alsoCalled } : {}),
    name,
    ...(note === undefined ? {} : { note }),
    key: `${operation.id} ${idOf(record) ?? name}`,
    asksFirst: asksFirst(operation),
    start: (run) => run(operation, record),
  }));
