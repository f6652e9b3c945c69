import { describe, expect, it } from "@jest/globals";
import { factColumns } from "../testing/fact-columns.ts";
import { crowdOf, saysNothingNew } from "./presence.ts";

const now = new Date("2026-11-27T12:00:00.000Z");
const row = {
  status: "online",
  ...factColumns,
  hostname: "Reception",
  updating_component: null,
  updating_version: null,
  last_ip_address: "192.0.2.1",
  last_seen_at: now,
};
const said = {
  hostname: "web-1",
  os: "linux",
  arch: "amd64",
  libc: null,
  agentVersion: "1.0.0",
  watchdogVersion: null,
  helperVersion: null,
  updateEnded: false,
  clientAddress: "192.0.2.1",
};

describe("a heartbeat says nothing new", () => {
  it.each([
    ["with the facts that are stored", {}, {}],
    ["without facts", {}, { hostname: null, os: null, arch: null, agentVersion: null }],
    ["without an address", {}, { clientAddress: null }],
    ["of a quarantined device", { status: "quarantined" }, {}],
    ["while an update goes on", { status: "updating", updating_component: "agent", updating_version: "1.1.0" }, {}],
  ])("%s", (_name, before, change) => {
    expect(saysNothingNew({ ...row, ...before }, { ...said, ...change }, now)).toBe(true);
  });

  it.each([
    ["from another address", {}, { clientAddress: "192.0.2.2" }],
    ["with another host name", {}, { hostname: "web-2" }],
    ["with the first host name", { agent_hostname: null }, {}],
    ["with another version", {}, { agentVersion: "1.1.0" }],
    ["of a device that was offline", { status: "offline" }, {}],
    ["for the first time", { last_seen_at: null }, {}],
    ["at the end of an update", { status: "updating", updating_component: "agent", updating_version: "1.0.0" }, {}],
  ])("but not %s", (_name, before, change) => {
    expect(saysNothingNew({ ...row, ...before }, { ...said, ...change }, now)).toBe(false);
  });
});

describe("the crowd among silent devices", () => {
  const of = (...owners: string[]) => owners.map((owner) => ({ org_id: owner, partner_id: owner[0] ?? "" }));

  it.each<[string, ReturnType<typeof of>, string[]]>([
    ["nobody, of none", [], []],
    ["an organization that owns half of them", of("a1", "a1", "b1", "c1"), ["a1"]],
    ["two that own a half each", of("a1", "b1"), ["a1", "b1"]],
    ["the partner of small ones", of("a1", "a2", "b1", "c1"), ["a"]],
    ["nobody, where all are small", of("a1", "b1", "c1"), []],
  ])("is %s", (_name, devices, expected) => {
    expect(crowdOf(devices)).toEqual(expected);
  });
});
