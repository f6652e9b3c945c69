import { create } from "@bufbuild/protobuf";
import { expect, it } from "@jest/globals";
import { AuditTargetSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { areTargets, mostTargets, targetsOf } from "./targets.ts";

const target = (id: string, name = "") => create(AuditTargetSchema, { type: "user", id, name });
const cut = (text: string, max: number) => text.slice(0, max);

it("targets have a name or null, and ids in one spelling", () => {
  const id = "018F0000-0000-7000-8000-00000000000A";
  expect(targetsOf([target(id, "Ada"), target("Own"), target("x".repeat(300))], cut)).toEqual([
    { type: "user", id: id.toLowerCase(), name: "Ada" },
    { type: "user", id: "Own", name: null },
    { type: "user", id: "x".repeat(255), name: null },
  ]);
});

it("a row keeps the first twenty targets", () => {
  const many = Array.from({ length: mostTargets + 1 }, (_, n) => target(String(n)));
  expect(targetsOf(many, cut).map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => String(n)));
});

const sealed = { type: "user", id: "1", name: null };
it.each([
  [[sealed, { ...sealed, name: "Ada" }], true],
  [[], false],
  [{}, false],
  [[null], false],
  [["user"], false],
  [[{ ...sealed, type: 1 }], false],
  [[{ ...sealed, id: "\u0000" }], false],
  [[{ ...sealed, name: 1 }], false],
  [[{ ...sealed, more: 1 }], false],
])("%j can be the targets of a sealed row: %j", (value, can) => {
  expect(areTargets(value)).toBe(can);
});
