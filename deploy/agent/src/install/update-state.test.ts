import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { linkTarget } from "../durable.ts";
import { type Installation, newInstallation, saying } from "../testing/installation.ts";
import { endUpdate, readUpdate, restoreVersion, storeStep, swapVersions, type Update } from "./update-state.ts";

let at: Installation;
let [old, next] = ["", ""];
beforeEach(() => {
  at = newInstallation();
  [old, next] = [at.addVersion("1.0.0", saying("1.0.0")), at.addVersion("1.1.0", saying("1.1.0"))];
  at.link(old);
});
afterEach(() => at.remove());

const links = () => [at.paths.links.agent.current, at.paths.links.agent.previous].map(linkTarget);
const update = (): Omit<Update, "stores" | "step"> => {
  return { component: "agent", version: "1.1.0", target: next, previous: old, counter: 4 };
};

describe("an update", () => {
  it("is swapped, and swapped again after any interruption", () => {
    const swapping = storeStep(at.paths, { ...update(), step: "swapping" });
    expect(swapVersions(at.paths, swapping).step).toBe("proving");
    expect(links()).toEqual([next, old]);
    expect(swapVersions(at.paths, swapping).step).toBe("proving");
    expect(links()).toEqual([next, old]);
    endUpdate(at.paths);
    expect(readUpdate(at.paths)).toBeNull();
  });

  it("is restored with the first reason, also when its step cannot be stored", () => {
    const proving = swapVersions(at.paths, storeStep(at.paths, { ...update(), step: "swapping" }));
    const paths = { ...at.paths, update: "/nowhere/update.json" };
    expect(restoreVersion(paths, proving, "it hangs").error).toBe("it hangs");
    expect(links()[0]).toBe(old);
    const restored = restoreVersion(at.paths, { ...proving, error: "it hangs" }, "interrupted");
    expect(readUpdate(at.paths)).toEqual(restored);
    expect(restored).toMatchObject({ step: "rolledBack", error: "it hangs" });
  });

  it("goes back when it is stored again and again", () => {
    let stored = storeStep(at.paths, { ...update(), step: "proving" });
    for (let n = 0; n < 30 && stored.step === "proving"; n++) stored = storeStep(at.paths, stored);
    expect(stored).toMatchObject({ step: "restoring", error: "the update did not end" });
  });

  it.each([
    ["is damaged", "{"],
    ["leads out of the versions", { target: "../../bin" }],
    ["leads to an absolute path", { previous: "/bin" }],
    ["has an unknown step", { step: "done" }],
    ["is of another component", { component: "helper" }],
  ])("is none when its file %s", (_name, change) => {
    const stored = { ...update(), step: "proving", stores: 1, ...(typeof change === "string" ? {} : change) };
    writeFileSync(at.paths.update, typeof change === "string" ? change : JSON.stringify(stored));
    expect(readUpdate(at.paths)).toBeNull();
  });
});
