import type { FieldPlan, Plan } from "./plan.ts";
import { unusual } from "./unusual.ts";
import type { WireReader } from "./wire-reader.ts";

/** Reads the message that ends at `end`. Throws Unusual. */
export type Decode = (reader: WireReader, end: number) => object;

/** Compiles the reader of a type: a switch over its tags, and a message with its fields in the library's order. */
export function compileDecoder(plan: Plan): Decode {
  const nested: Decode[] = [];
  const cases = plan.fields.map((field) => `case ${field.tag}: ${statement(field, nested)} break;`);
  const zeros = plan.zeros.map(([name, code]) => `, ${JSON.stringify(name)}: ${code}`).join("");
  const code = `return (reader, end) => {
    const message = { $typeName: ${JSON.stringify(plan.typeName)}${zeros} };
    while (reader.at < end) {
      switch (reader.tag()) {
        ${cases.join("\n")}
        default: throw unusual;
      }
    }
    if (reader.at !== end) throw unusual;
    return message;
  };`;
  return new Function("nested", "unusual", code)(nested, unusual) as Decode;
}

function statement({ name, kind, value, oneof }: FieldPlan, nested: Decode[]): string {
  const target = `message[${JSON.stringify(oneof ?? name)}]`;
  const read = typeof value === "string" ? `reader.${value}()` : nestedRead(value, nested);
  if (kind === "list") return `${target}.push(${read});`;
  if (kind === "packed") return `for (const last = reader.end(); reader.at < last; ) ${target}.push(${read});`;
  // Every writer has both, the key first.
  if (kind === "map") {
    return `{
      const last = reader.end();
      if (reader.tag() !== 10) throw unusual;
      const key = reader.string();
      if (reader.tag() !== 18) throw unusual;
      ${target}[key] = reader.string();
      if (reader.at !== last) throw unusual;
    }`;
  }
  // A message that comes twice is merged.
  const isSet = oneof ? `${target}.case !== undefined` : `${target} !== undefined`;
  const once = typeof value === "string" ? "" : `if (${isSet}) throw unusual;`;
  return `${once} ${target} = ${oneof ? `{ case: ${JSON.stringify(name)}, value: ${read} }` : read};`;
}

function nestedRead(plan: Plan, nested: Decode[]): string {
  nested.push(compileDecoder(plan));
  return `nested[${nested.length - 1}](reader, reader.end())`;
}
