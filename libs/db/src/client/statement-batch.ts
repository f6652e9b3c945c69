import { errorOf } from "@muster/kit";
import pg from "pg";
import type { Query } from "./statement.ts";
import { valueTypes } from "./value-types.ts";

/** A statement of a batch: under its `name` it is prepared on each connection; without one it is parsed each time. */
export type BatchStatement = Query & { name?: string | undefined };
export type Answer = { command: string; rows: Record<string, unknown>[]; rowCount: number };

type Column = { name: string; read: (text: string) => unknown };
/** The columns of a prepared statement; PostgreSQL refuses to run one whose columns have changed. */
type Shape = { columns: Column[]; empty: Record<string, null> };

type PreparedValue = string | Buffer | null;
/** Not part of pg's types. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): PreparedValue } }).utils;
const shapes = new WeakMap<object, Map<string, Shape>>();
/** The server infers the types of all parameters. */
const inferredTypes: string[] = [];
/** Of the unnamed portal. */
const allRows: pg.ExecuteConfig = {};
const noAnswer: Answer = { command: "", rows: [], rowCount: 0 };

/**
 * Statements that are sent with one Sync after them, so that the server answers all of them at once. Outside of a
 * transaction they are one: committed when `done` is called without an error. After the first that fails the server
 * skips the rest; the connection must not be used again then, since statements may count as prepared that are not.
 */
export class StatementBatch extends pg.Query {
  readonly statements: readonly BatchStatement[];
  readonly #done: (error: Error | null, answers: readonly Answer[]) => void;
  readonly #answers: Answer[] = [];
  readonly #shapes: Shape[] = [];
  #rows: Record<string, unknown>[] = [];
  #unreadable: { error: Error; answers: Answer[] } | null = null;

  /** `done` receives the answers of the statements that succeeded, in their order. */
  constructor(statements: readonly BatchStatement[], done: (error: Error | null, answers: readonly Answer[]) => void) {
    // The callback is pg's sign that nobody listens to events.
    super("", undefined, () => undefined);
    this.statements = statements;
    this.#done = done;
    this.submit = (connection) => this.#submit(connection);
  }

  #submit(wire: pg.Connection): void {
    const prepared = shapesOf(wire);
    // Before anything is written: what precedes a value that cannot be sent would be committed.
    const values = this.statements.map((statement) => statement.values.map(prepareValue));
    wire.stream.cork();
    for (const [index, { text, name = "" }] of this.statements.entries()) {
      const cached = name === "" ? undefined : prepared.get(name);
      const shape = cached ?? { columns: [], empty: {} };
      this.#shapes.push(shape);
      if (!cached) {
        wire.parse({ text, name, types: inferredTypes }, true);
        if (name !== "") prepared.set(name, shape);
      }
      wire.bind({ statement: name, values: values[index] }, true);
      if (!cached) wire.describe({ type: "P", name: "" }, true);
      wire.execute(allRows, true);
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    const shape = this.#shapes[this.#answers.length];
    if (!shape) return;
    shape.columns = fields.map(({ name, dataTypeID }) => ({ name, read: valueTypes.getTypeParser(dataTypeID) }));
    shape.empty = Object.fromEntries(fields.map(({ name }) => [name, null]));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const shape = this.#shapes[this.#answers.length];
    if (!shape) return;
    const { columns, empty } = shape;
    // A copy has its columns at once: V8 gives all rows of a statement one layout.
    const row: Record<string, unknown> = { ...empty };
    try {
      for (let index = 0; index < columns.length; index++) {
        const column = columns[index];
        const text = fields[index] ?? null;
        if (column && text !== null) row[column.name] = column.read(text);
      }
      this.#rows.push(row);
    } catch (error) {
      this.#unreadable ??= { error: errorOf(error), answers: [...this.#answers] };
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [command = "", ...counts] = text.split(" ");
    this.#answers.push({ command, rows: this.#rows, rowCount: Number(counts.at(-1) ?? 0) });
    this.#rows = [];
  }

  handleEmptyQuery(): void {
    this.#answers.push(noAnswer);
  }

  handleError(error: Error): void {
    this.#done(error, this.#answers);
  }

  handleReadyForQuery(): void {
    if (this.#unreadable) this.#done(this.#unreadable.error, this.#unreadable.answers);
    else this.#done(null, this.#answers);
  }
}

function shapesOf(wire: pg.Connection): Map<string, Shape> {
  const cached = shapes.get(wire);
  if (cached) return cached;
  const made = new Map<string, Shape>();
  shapes.set(wire, made);
  return made;
}
