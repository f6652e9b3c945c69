import { expect, it } from "@jest/globals";
import { agentSystems } from "./agent-systems.ts";

const linux = { os: "linux", arch: "amd64", libc: "gnu", version: "2.5.0" };

it.each([
  ["no system while no agent is promoted", [], []],
  [
    "a system once, with its architectures",
    [linux, { ...linux, libc: "musl" }, { ...linux, arch: "arm64" }],
    [["Linux", "2.5.0 for amd64, amd64 (musl), arm64"]],
  ],
  [
    "the versions of a system apart",
    [linux, { ...linux, arch: "arm64", version: "2.4.3" }],
    [["Linux", "2.5.0 for amd64; 2.4.3 for arm64"]],
  ],
  [
    "each system by its name",
    [linux, { ...linux, os: "darwin", arch: "arm64" }],
    [
      ["Linux", "2.5.0 for amd64"],
      ["macOS", "2.5.0 for arm64"],
    ],
  ],
])("lists %s", (_what, files, systems) => {
  expect(agentSystems(files)).toEqual(systems);
});
