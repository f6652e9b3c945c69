import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { Edition, FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

/** The types of one value, named as the methods of WireReader and WireWriter. */
export type Scalar = "string" | "bytes" | "bool" | "int32" | "int64" | "double";

export type FieldPlan = {
  name: string;
  /** Number and wire type, as written before a value. */
  tag: number;
  /** With implicit presence a zero is not written. A map has strings for keys and values. */
  kind: "implicit" | "explicit" | "list" | "packed" | "map";
  value: Scalar | Plan;
  /** Name of the group of which at most one field is set. */
  oneof: string | undefined;
};

/** The input of the code generator for one message type. */
export type Plan = {
  typeName: string;
  /** By number, as they are written. */
  fields: FieldPlan[];
  /** Names and empty values, as code, of what every message of the library has. */
  zeros: [name: string, code: string][];
};

const scalars = new Map<ScalarType | undefined, Scalar>([
  [ScalarType.STRING, "string"],
  [ScalarType.BYTES, "bytes"],
  [ScalarType.BOOL, "bool"],
  [ScalarType.INT32, "int32"],
  [ScalarType.INT64, "int64"],
  [ScalarType.DOUBLE, "double"],
]);

const wireTypes: Record<Scalar, number> = { string: 2, bytes: 2, bool: 0, int32: 0, int64: 0, double: 1 };
const zeros = { string: '""', bytes: "new Uint8Array(0)", bool: "false", int32: "0", int64: "0n", double: "0" };

// The others look different in a program and on the wire.
const plainTypes = ["Timestamp", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`);
const maxFieldNumber = 2047;

/** The plan of a type, or null when it has a kind of field that is not compiled, or contains itself. */
export function planOf(desc: DescMessage, around: readonly DescMessage[] = []): Plan | null {
  if (desc.typeName.startsWith("google.protobuf.") && !plainTypes.includes(desc.typeName)) return null;
  if (desc.file.edition !== Edition.EDITION_PROTO3 || around.includes(desc)) return null;
  const fields: FieldPlan[] = [];
  for (const field of desc.fields) {
    const planned = field.number > maxFieldNumber ? null : fieldPlan(field, [...around, desc]);
    if (!planned) return null;
    fields.push(planned);
  }
  fields.sort((a, b) => a.tag - b.tag);
  return { typeName: desc.typeName, fields, zeros: desc.members.flatMap(zeroOf) };
}

function fieldPlan(field: DescField, around: readonly DescMessage[]): FieldPlan | null {
  const value = valuePlan(field, around);
  if (value === null) return null;
  const kind = kindOf(field);
  const wireType = kind === "packed" || kind === "map" || typeof value !== "string" ? 2 : wireTypes[value];
  return { name: field.localName, tag: (field.number << 3) | wireType, kind, value, oneof: field.oneof?.localName };
}

function kindOf(field: DescField): FieldPlan["kind"] {
  if (field.fieldKind === "map") return "map";
  if (field.fieldKind === "list") return field.packed ? "packed" : "list";
  return field.presence === FeatureSet_FieldPresence.IMPLICIT ? "implicit" : "explicit";
}

function valuePlan(field: DescField, around: readonly DescMessage[]): Scalar | Plan | null {
  if (field.fieldKind === "map") {
    return field.mapKey === ScalarType.STRING && field.scalar === ScalarType.STRING ? "string" : null;
  }
  if (field.message) return planOf(field.message, around);
  const scalar = scalars.get(field.scalar);
  if (scalar === undefined || ("longAsString" in field && field.longAsString)) return null;
  // Lists of numbers may be written without packing them.
  const unpacked = field.fieldKind === "list" && !field.packed && wireTypes[scalar] !== 2;
  return unpacked ? null : scalar;
}

function zeroOf(member: DescMessage["members"][number]): Plan["zeros"] {
  if (member.kind === "oneof") return [[member.localName, "{ case: undefined }"]];
  if (member.fieldKind === "list") return [[member.localName, "[]"]];
  if (member.fieldKind === "map") return [[member.localName, "{}"]];
  if (member.presence !== FeatureSet_FieldPresence.IMPLICIT) return [];
  const scalar = scalars.get(member.scalar);
  return scalar ? [[member.localName, zeros[scalar]]] : [];
}
