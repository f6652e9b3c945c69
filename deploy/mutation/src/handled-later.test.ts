import { expect, it } from "@jest/globals";

const loop = () => new Promise(setImmediate);

// For runner.test.ts: jest takes a rejection back that is handled while its test still runs.
it("a rejection that is handled one round of the loop later fails no test", async () => {
  const refused = Promise.reject(new Error("refused"));
  await loop();
  await expect(refused).rejects.toThrow("refused");
  await loop();
});
