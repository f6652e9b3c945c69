import { expect, it } from "@jest/globals";
import { jobFilterOf, jobTitle, listFiltersOf } from "./job-texts.ts";

it("a job has the filters of the list, without its order and without empty ones", () => {
  const filters = { orgId: "o", status: "offline,quarantined", search: "web", siteId: undefined, os: "", sort: "-x" };
  const filter = jobFilterOf(filters);
  expect(filter).toEqual({ orgId: "o", status: ["offline", "quarantined"], search: "web" });
  expect(listFiltersOf(filter)).toEqual({ orgId: "o", status: "offline,quarantined", search: "web" });
});

it.each([
  ["Decommission 1,200 devices", { action: "decommission", change: null }, 1_200],
  ["Approve 1 device", { action: "approve", change: null }, 1],
  ["Turn agent updates off for 2 devices", { action: "update", change: { autoUpdateEnabled: false } }, 2],
  ["Move 2 devices to a site", { action: "update", change: { siteId: "s" } }, 2],
  ["Take 2 devices out of their sites", { action: "update", change: { siteId: null } }, 2],
])("%s", (title, job, total) => {
  expect(jobTitle(job, total)).toBe(title);
});
