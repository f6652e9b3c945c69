import { describe, expect, it } from "@jest/globals";
import { mayBeUnsigned, type TrustSettings, trustState } from "./trust.ts";

describe("unsigned releases", () => {
  it.each<[string, TrustSettings, boolean, RegExp]>([
    [
      "in production without keys",
      { keys: 0, nodeEnv: "production", allowUnsigned: false },
      false,
      /^release_untrusted: /,
    ],
    ["there when they are allowed", { keys: 0, nodeEnv: "production", allowUnsigned: true }, true, /are offered$/],
    ["in production with keys", { keys: 1, nodeEnv: "production", allowUnsigned: false }, false, /^ok$/],
    ["with keys when they are allowed", { keys: 1, nodeEnv: "production", allowUnsigned: true }, true, /^ok$/],
    ["in development without keys", { keys: 0, nodeEnv: "development", allowUnsigned: false }, true, /are offered$/],
    ["in development with keys", { keys: 2, nodeEnv: "development", allowUnsigned: false }, false, /^ok$/],
  ])("%s are accepted or not, and the state says so", (_where, settings, accepted, state) => {
    expect(mayBeUnsigned(settings)).toBe(accepted);
    expect(trustState(settings)).toMatch(state);
  });
});
