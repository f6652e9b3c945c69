import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { DirectoryInputSchema } from "@muster/proto/muster/identity/v1/directory_pb";
import { directoryChange, newDirectoryFields } from "./directory-fields.ts";

type Init = MessageInitShape<typeof DirectoryInputSchema>;
const id = "018F6F1E-7C2A-7B3D-9E4F-0A1B2C3D4E5F";
const input = (change: Init = {}) =>
  create(DirectoryInputSchema, { name: "Staff", preset: "", providerId: "", defaultRoleId: "", ...change } as Init);
const problem = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    const { code, facts } = error as AppError;
    return code === "validation_failed" ? (facts.details as { fieldErrors: object }).fieldErrors : code;
  }
};

describe("the fields of a directory", () => {
  it("are read, ids in lower case and what is empty as absent", () => {
    expect(newDirectoryFields(input({ providerId: id }))).toEqual({
      ...{ name: "Staff", preset: null, defaultRoleId: null },
      providerId: id.toLowerCase(),
    });
  });

  it.each<[string, Init, object]>([
    ["name", { name: "" }, { name: [expect.any(String)] }],
    ["preset", { preset: "nobody" }, { preset: ["Unknown preset"] }],
    [
      "ids",
      { providerId: "x", defaultRoleId: "y" },
      { providerId: ["Must be a UUID"], defaultRoleId: ["Must be a UUID"] },
    ],
  ])("are refused with another %s", (_field, change, expected) => {
    expect(problem(() => newDirectoryFields(input(change)))).toEqual(expected);
  });

  it("change as a mask says, whatever the others hold", () => {
    const wrong = input({ name: "", preset: "nobody", defaultRoleId: id });
    expect(directoryChange(["default_role_id"], wrong)).toEqual({ defaultRoleId: id.toLowerCase() });
    expect(problem(() => directoryChange(["name"], wrong))).toEqual({ name: [expect.any(String)] });
    expect(problem(() => directoryChange(["org_id"], input()))).toBe("no_updates");
  });
});
