import type { FieldPlan, Plan } from "./plan.ts";
import { unusual } from "./unusual.ts";
import type { WireWriter } from "./wire-writer.ts";

/** Writes a message, or what `create` would make one of. Throws Unusual, or a TypeError for what is no message. */
export type Encode = (writer: WireWriter, message: object) => void;

// A value that is not set is null or undefined, as `create` has it, or with implicit presence one of these.
const isZero = {
  string: 'value === ""',
  bytes: "value.length === 0",
  bool: "value === false",
  int32: "value === 0",
  int64: "value === 0n",
  double: "Object.is(value, 0)",
};

/** Compiles the writer of a type. It begins with the last field: the writer works from the back. */
export function compileEncoder(plan: Plan): Encode {
  const nested: Encode[] = [];
  const statements = plan.fields.map((field) => statement(field, nested)).reverse();
  const code = `return (writer, message) => {
    if (message.$unknown !== undefined) throw unusual;
    let value;
    let from;
    ${statements.join("\n")}
  };`;
  return new Function("nested", "unusual", code)(nested, unusual) as Encode;
}

function statement(field: FieldPlan, nested: Encode[]): string {
  const { name, kind, value, oneof, tag } = field;
  const write = writeOf(field, nested);
  if (oneof) {
    const group = `message[${JSON.stringify(oneof)}]`;
    return `if (${group} != null && ${group}.case === ${JSON.stringify(name)}) { value = ${group}.value; ${write} }`;
  }
  const get = `value = message[${JSON.stringify(name)}];`;
  if (kind === "explicit") return `${get} if (value != null) { ${write} }`;
  if (kind === "implicit" && typeof value === "string")
    return `${get} if (value != null && !(${isZero[value]})) { ${write} }`;
  if (kind === "map") {
    return `${get} if (value != null) {
      const keys = Object.keys(value);
      for (let index = keys.length - 1; index >= 0; index--) {
        from = writer.size;
        writer.string(value[keys[index]]);
        writer.varint(18);
        writer.string(keys[index]);
        writer.varint(10);
        writer.head(${tag}, from);
      }
    }`;
  }
  const items = `for (let index = list.length - 1; index >= 0; index--) { value = list[index];`;
  const list = `${get} if (value != null) { const list = value; if (!Array.isArray(list)) throw unusual;`;
  if (kind === "list") return `${list} ${items} ${write} } }`;
  return `${list} if (list.length > 0) { const end = writer.size; ${items} writer.${value}(value); } writer.head(${tag}, end); } }`;
}

/** Value and tag; length and tag of a message. */
function writeOf({ value, tag }: FieldPlan, nested: Encode[]): string {
  if (typeof value === "string") return `writer.${value}(value); writer.varint(${tag});`;
  nested.push(compileEncoder(value));
  return `from = writer.size; nested[${nested.length - 1}](writer, value); writer.head(${tag}, from);`;
}
