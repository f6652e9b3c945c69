import { useMemo } from "react";
import { ButtonLabel } from "../parts/button-label.tsx";
import type { Column } from "../parts/column.ts";
import { useMe } from "../parts/me.tsx";
import { Menu } from "../parts/menu.tsx";
import { nextWidth } from "../rules/next-width.ts";
import { type Me, whyNot } from "../rules/why-not.ts";
import { useHere } from "./here.ts";
import { asksFirst, type Operation, offeredFor } from "./record-operation.ts";
import { useRun } from "./runner.tsx";

type OperationsProps<R> = { of: R; operations: readonly Operation<R>[]; name: string };

const labelOf = <R,>(operation: Operation<R>) => `${operation.verb}${asksFirst(operation) ? " …" : ""}`;

/** The operations of a page's record: some as buttons, the first of them at the end, the rest in a menu. */
export function HeadOperations<R>({ of, operations, name }: OperationsProps<R>) {
  useHere(operations, of, name);
  const offered = offeredFor(operations, of).filter(({ isOnPage }) => !isOnPage);
  const prominent = offered.filter(({ shown }) => shown !== undefined);
  const others = offered.filter(({ shown }) => shown === undefined);
  return (
    <>
      {[...prominent].reverse().map((operation) => (
        <OneButton key={operation.id} of={of} operation={operation} />
      ))}
      <RowOperations of={of} operations={others} name={name} />
    </>
  );
}

type OneProps<R> = { of: R; operation: Operation<R> };

/** One operation as a button of its own. */
export function OperationButton<R>({ of, operation }: OneProps<R>) {
  const operations = useMemo(() => [operation], [operation]);
  useHere(operations, of, "");
  return <OneButton of={of} operation={operation} />;
}

/** A button of an operation that the page offers elsewhere, too; users who may not use it get the reason. */
export function OneButton<R>({ of, operation }: OneProps<R>) {
  const run = useRun();
  const why = whyNot(useMe(), operation.needs);
  return (
    <button
      type="button"
      data-weight={operation.shown === "primary" ? "primary" : undefined}
      data-tone={operation.tone}
      aria-disabled={why !== null}
      data-tip={why ?? undefined}
      onClick={() => {
        if (why === null) run(operation, of);
      }}
    >
      <operation.icon size={15} aria-hidden />
      <ButtonLabel of={labelOf(operation)} />
      {why ? <span className="visually-hidden"> ({why})</span> : null}
    </button>
  );
}

type NextStepProps<R> = OneProps<R> & { name: string; isLarge?: true };

/** The one operation that a record waits for, as a small button; `name` names the record for screen readers. */
export function NextStep<R>({ of, operation, name, isLarge }: NextStepProps<R>) {
  const run = useRun();
  return (
    <button type="button" data-size={isLarge ? undefined : "small"} onClick={() => run(operation, of)}>
      {labelOf(operation)}
      <span className="visually-hidden"> {name}</span>
    </button>
  );
}

/**
 * The column of a list with the one thing that a row waits for and the user may do, which the list has while one of its
 * rows does.
 */
export const nextColumn = <R,>(
  me: Me,
  operations: readonly Operation<R>[],
  nameOf: (record: R) => string,
): Column<R> => ({
  id: "next",
  title: "Next step",
  width: nextWidth(stepsOf(me, operations).map(labelOf)),
  isEnd: true,
  as: "next",
  cell: (record) => {
    const next = offeredFor(stepsOf(me, operations), record).find(({ isNext }) => isNext?.(record));
    return next ? <NextStep of={record} operation={next} name={nameOf(record)} /> : null;
  },
});

/** What may be a next step that the user may take. */
const stepsOf = <R,>(me: Me, operations: readonly Operation<R>[]) =>
  operations.filter(({ isNext, needs }) => isNext && whyNot(me, needs) === null);

/** The operations of a row in a menu; nothing when none is offered. */
export function RowOperations<R>({ of, operations, name }: OperationsProps<R>) {
  const run = useRun();
  const me = useMe();
  const offered = offeredFor(operations, of);
  if (offered.length === 0) return null;
  return (
    <Menu
      label={`More for ${name}`}
      items={offered.map((operation) => ({
        label: labelOf(operation),
        icon: <operation.icon size={15} aria-hidden />,
        ...(operation.tone ? { tone: operation.tone } : {}),
        why: whyNot(me, operation.needs),
        onChoose: () => run(operation, of),
      }))}
    />
  );
}

/** Operations as links in a line, for a record with one or two of them; `name` names it for screen readers. */
export function LineOperations<R>({ of, operations, name }: OperationsProps<R>) {
  const run = useRun();
  const me = useMe();
  useHere(operations, of, name);
  return offeredFor(operations, of)
    .filter(({ needs }) => whyNot(me, needs) === null)
    .map((operation) => (
      <button type="button" key={operation.id} data-weight="link" onClick={() => run(operation, of)}>
        {labelOf(operation)}
        {name ? <span className="visually-hidden"> {name}</span> : null}
      </button>
    ));
}

/** The last column of a list: what can be done with each of its rows. */
export const actionsColumn = <R,>(operations: readonly Operation<R>[], nameOf: (record: R) => string): Column<R> => ({
  id: "actions",
  title: "Actions",
  width: "5rem",
  isEnd: true,
  as: "menu",
  cell: (record) => <RowOperations of={record} operations={operations} name={nameOf(record)} />,
});
