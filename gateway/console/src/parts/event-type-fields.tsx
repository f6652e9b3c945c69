import type { paths } from "@muster/client";
import type { Failure } from "../api/call.ts";
import { Failed } from "../api/queries.ts";
import { jsonObjectOf, jsonText } from "../rules/json-text.ts";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";

/** An own event type, as the list has it. */
export type EventType =
  paths["/api/v1/webhooks/event-types"]["get"]["responses"]["200"]["content"]["application/json"]["data"][number];

/** The name of an own event type, with or without its prefix in the text. */
export const ownTypeName = (text: string) => `custom.${text.trim().replace(/^custom\./, "")}` as const;

/** What was refused before it was sent, as the API refuses fields. */
const refused = (fieldErrors: Record<string, string[]>): Failure => ({
  status: 400,
  code: "validation_failed",
  error: "Some fields cannot be read",
  requestId: "",
  retryAfterSeconds: null,
  details: { formErrors: [], fieldErrors },
});

/** What the fields of an event type say. Throws Failed for a text that is no JSON object, at its field. */
export function eventTypeOf(form: FormData) {
  const [schema, example] = ["schema", "example"].map((name) => jsonObjectOf(String(form.get(name) ?? "")));
  const problems = Object.entries({ schema, example }).flatMap(([name, read]) =>
    read && "problem" in read ? [{ name, problem: read.problem }] : [],
  );
  if (problems.length > 0) {
    throw new Failed(refused(Object.fromEntries(problems.map(({ name, problem }) => [name, [problem]]))));
  }
  return {
    description: String(form.get("description")).trim(),
    version: String(form.get("version")).trim() || null,
    schema: schema && "value" in schema ? schema.value : null,
    example: example && "value" in example ? example.value : null,
  };
}

/** What an event means, and the shape of its data. */
export const EventTypeFields = ({ of: type, errorsOf }: { of?: EventType; errorsOf: ErrorsOf }) => (
  <>
    <Field label="Description" hint="The event's meaning in one sentence." errors={errorsOf("description")}>
      <input name="description" required maxLength={1_000} defaultValue={type?.description} />
    </Field>
    <Field label="Version" hint="Of the schema; empty: none." errors={errorsOf("version")}>
      <input name="version" maxLength={50} defaultValue={type?.version ?? ""} spellCheck={false} />
    </Field>
    <Field
      label="JSON Schema of data"
      hint="2020-12, at most 16 KiB; empty: any object. Events that do not meet it are refused."
      errors={errorsOf("schema")}
    >
      <textarea name="schema" rows={7} defaultValue={jsonText(type?.schema ?? null)} spellCheck={false} />
    </Field>
    <Field label="Example of data" hint="The schema must accept it." errors={errorsOf("example")}>
      <textarea name="example" rows={5} defaultValue={jsonText(exampleOf(type))} spellCheck={false} />
    </Field>
  </>
);

/** The data of its example; one without properties was none. */
const exampleOf = (type: EventType | undefined) =>
  type && Object.keys(type.example.data).length > 0 ? type.example.data : null;
