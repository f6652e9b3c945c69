import { readdirSync } from "node:fs";
import { type DescField, type DescFile, type DescMessage, type MessageInitShape, ScalarType } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import fc from "fast-check";

const proto = new URL("../../../../proto/muster/", import.meta.url);

/** Every message type of the contract, by name. */
export async function contractTypes(): Promise<DescMessage[]> {
  const files = readdirSync(proto, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".proto"));
  const types: DescMessage[] = [];
  for (const name of files.sort()) {
    const module: Record<string, unknown> = await import(`@muster/proto/muster/${name.replace(/\.proto$/, "_pb")}`);
    for (const exported of Object.values(module)) {
      if (!isFile(exported)) continue;
      for (const type of nestedTypes(exported)) if (type.kind === "message") types.push(type);
    }
  }
  return types;
}

function isFile(value: unknown): value is DescFile {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "file";
}

const texts = fc.oneof(
  fc.uuid(),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 90 }),
  fc.string({ unit: "grapheme-ascii", minLength: 60, maxLength: 300 }),
  fc.constantFrom("\ufeffmarked", "\ufffd", "\ud800", "é".repeat(33)),
);

const values = new Map<ScalarType, fc.Arbitrary<unknown>>([
  [ScalarType.STRING, texts],
  [ScalarType.BYTES, fc.uint8Array({ maxLength: 200 })],
  [ScalarType.BOOL, fc.boolean()],
  [ScalarType.INT32, fc.oneof(fc.nat(300), fc.integer())],
  [ScalarType.INT64, fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, 2n ** 53n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))],
  [ScalarType.DOUBLE, fc.double()],
]);

/** What `create` takes of a type: any of its fields set or not, zeros among them. */
export function inits<Desc extends DescMessage>(type: Desc): fc.Arbitrary<MessageInitShape<Desc>> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const member of type.members) {
    if (member.kind === "field") members[member.localName] = valuesOf(member);
    else {
      const cases = member.fields.map((field) =>
        fc.record({ case: fc.constant(field.localName), value: valuesOf(field) }),
      );
      members[member.localName] = fc.oneof(fc.constant({ case: undefined }), ...cases);
    }
  }
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<MessageInitShape<Desc>>;
}

function valuesOf(field: DescField): fc.Arbitrary<unknown> {
  const one = field.message
    ? inits(field.message)
    : field.enum
      ? fc.constantFrom(...field.enum.values.map(({ number }) => number))
      : (values.get(field.scalar as ScalarType) as fc.Arbitrary<unknown>);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 3 });
  return field.fieldKind === "map" ? fc.dictionary(texts, one, { maxKeys: 3 }) : one;
}
